/** Sorts numbers in ascending order. */
const sorted = (values: readonly number[]): Float64Array => Float64Array.from(values).sort()

/** The interpolated quantile; NaN without values. */
export const quantile = (values: readonly number[], share: number): number =>
  quantileOf(sorted(values), share)

/** The quantile of values in ascending order. */
export const quantileOf = (ascending: Float64Array, share: number): number => {
  const position = (ascending.length - 1) * share
  const [below, above] = [ascending[Math.floor(position)], ascending[Math.ceil(position)]]
  if (below === undefined || above === undefined) return Number.NaN
  return below + (above - below) * (position - Math.floor(position))
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)

/** The complementary error function of Numerical Recipes, with an error below 1.2e-7. */
const erfc = (x: number): number => {
  const t = 1 / (1 + 0.5 * Math.abs(x))
  const coefficients = [
    -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587,
    -0.82215223, 0.17087277,
  ]
  const polynomial = coefficients.reduceRight((sum, coefficient) => sum * t + coefficient, 0)
  const value = t * Math.exp(-x * x + polynomial)
  return x >= 0 ? value : 2 - value
}

export interface RankTest {
  /** Probability that a value of the second sample exceeds one of the first; 0.5 for equal distributions. */
  readonly superiority: number
  /** Two-sided. */
  readonly p: number
}

/** Mann–Whitney U test by the normal approximation with tie correction, for samples of at least 20. */
export const rankTest = (first: readonly number[], second: readonly number[]): RankTest => {
  const all = [
    ...first.map((value) => ({ value, isSecond: false })),
    ...second.map((value) => ({ value, isSecond: true })),
  ]
  all.sort((one, other) => one.value - other.value)
  let [rankSum, ties] = [0, 0]
  for (let start = 0; start < all.length; ) {
    let end = start
    while (end < all.length && all[end]?.value === all[start]?.value) end += 1
    const rank = (start + 1 + end) / 2
    for (let index = start; index < end; index += 1) if (all[index]?.isSecond) rankSum += rank
    ties += (end - start) ** 3 - (end - start)
    start = end
  }
  const [n, m, total] = [first.length, second.length, all.length]
  const u = rankSum - (m * (m + 1)) / 2
  const deviation = Math.sqrt(((n * m) / 12) * (total + 1 - ties / (total * (total - 1))))
  const z = deviation === 0 ? 0 : (u - (n * m) / 2) / deviation
  return { superiority: u / (n * m), p: erfc(Math.abs(z) / Math.SQRT2) }
}

const resampled = (values: readonly number[]): number[] =>
  values.map(() => values[Math.floor(Math.random() * values.length)] ?? Number.NaN)

/** Bootstrap confidence interval of the difference of medians, second minus first. */
export const medianDifference = (
  first: readonly number[],
  second: readonly number[],
  confidence = 0.95,
  rounds = 2000,
): readonly [number, number] => {
  const differences = Array.from(
    { length: rounds },
    () => median(resampled(second)) - median(resampled(first)),
  )
  return [quantile(differences, (1 - confidence) / 2), quantile(differences, (1 + confidence) / 2)]
}
