const names = {}
for (const entry of process.argv.slice(2)) {
  names[entry] = Object.keys(require(`resumable-bus${entry}`)).sort()
}
console.log(JSON.stringify(names))
