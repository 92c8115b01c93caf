/** A script is imported as its text. */
declare module '*.lua' {
  const script: string
  export default script
}
