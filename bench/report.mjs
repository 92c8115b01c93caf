/** From samples to figures, and from figures to text. */
import { cpus, loadavg } from 'node:os'

/**
 * A figure is the median of all samples. A ratio is the median of the ratios of samples that were taken one right
 * after the other, which is close to the ratio of the two medians, and steadier where the machine's speed drifts.
 */
export function judge(row, samples) {
  const ours = samples.get(row.ours).map((sample) => sample[row.metric])
  const other = row.other && samples.get(row.other).map((sample) => sample[row.metric])
  const ratio = other && median(ours.map((figure, i) => figure / other[i]))
  const measured = ratio ?? median(ours)
  return {
    what: row.what,
    against: row.against,
    unit: row.unit,
    ours: figure(ours),
    ...(other && { other: figure(other), ratio }),
    ...(row.atMost !== undefined && { atMost: row.atMost, ok: measured <= row.atMost }),
  }
}

function figure(samples) {
  const sorted = samples.toSorted((a, b) => a - b)
  const at = (part) => sorted[Math.round(part * (sorted.length - 1))]
  return { median: median(samples), quartiles: [at(0.25), at(0.75)], samples: samples.length }
}

function median(samples) {
  const sorted = samples.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** What the figures were taken on, and whether it had time for them. Call before the run. */
export function machine() {
  const { node } = process.versions
  const [{ model } = { model: 'unknown' }] = cpus()
  const cores = cpus().length
  const load = loadavg()[0]
  const busy = load > cores / 4 ? `, BUSY: load ${load.toFixed(1)} before the run, expect noise` : ''
  return `Node ${node}, ${process.platform} ${process.arch}, ${cores} × ${model.trim()}${busy}`
}

export function table(results) {
  const lines = []
  const width = Math.max(...results.map(({ against }) => against.length)) + 2
  let group
  for (const result of results) {
    if (result.what !== group) {
      group = result.what
      lines.push('', `${group} (${result.unit})`, heading(width))
    }
    lines.push(line(result, width))
  }
  const judged = results.filter(({ ok }) => ok !== undefined)
  const missed = judged.filter(({ ok }) => !ok)
  lines.push(
    '',
    `${judged.length - missed.length} ok, ${missed.length} MISS. Figures are medians, ± half the distance of the quartiles.`,
  )
  return lines.join('\n')
}

function heading(width) {
  return `  ${'against'.padEnd(width)}${['ours', 'other', 'ratio', 'at most'].map((name, i) => name.padStart(COLUMNS[i])).join('')}`
}

const COLUMNS = [18, 18, 9, 10]

function line({ against, ours, other, ratio, atMost, ok }, width) {
  const cells = [
    figureText(ours),
    other ? figureText(other) : '',
    ratio === undefined ? '' : number(ratio),
    atMost === undefined ? '' : number(atMost),
  ]
  const verdict = ok === undefined ? '' : ok ? 'ok' : 'MISS'
  return `  ${against.padEnd(width)}${cells.map((cell, i) => cell.padStart(COLUMNS[i])).join('')}  ${verdict}`.trimEnd()
}

function figureText({ median, quartiles: [low, high], samples }) {
  const spread = samples > 1 ? ` ±${Math.round(((high - low) / 2 / median) * 100)}%` : ''
  return number(median) + spread
}

function number(value) {
  if (value >= 1000) return Math.round(value).toLocaleString('en')
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}
