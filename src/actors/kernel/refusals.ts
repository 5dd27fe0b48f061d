/** Refusals of the kernel towards the code that uses it: faults of the build, never of a user. */
export class ChartRefused extends Error {
  constructor(chart: string, why: string) {
    super(`chart "${chart}" is refused: ${why}`);
    this.name = "ChartRefused";
  }
}
