/** Refusals of the kernel towards the code that uses it: faults of the build, never of a user. */
export class ChartRefused extends Error {
  constructor(chart: string, why: string) {
    super(`chart "${chart}" is refused: ${why}`);
    this.name = "ChartRefused";
  }
}

export class SpecRefused extends Error {
  constructor(spec: string, why: string) {
    super(`spec "${spec}" is refused: ${why}`);
    this.name = "SpecRefused";
  }
}
