/** Waits drawn in the gutter right of the rows: ink while they can end, dashed red when nothing can move. */
import { type TreeRow, type WaitArrow, waitArrows } from "../../src/client/index.ts";
import { useActors } from "../hooks/use-client.ts";
import { useWaits } from "./waits.ts";

const LANE = 5;
const LANES = 4;

export function WaitArrows({ rows, height }: { rows: readonly TreeRow[]; height: number }) {
  const arrows = waitArrows(rows, useWaits(useActors()));
  return arrows.map((arrow) => <Arrow key={`${arrow.from} ${arrow.to}`} arrow={arrow} height={height} />);
}

function Arrow({ arrow: { from, to, lane, stuck }, height }: { arrow: WaitArrow; height: number }) {
  const tall = Math.abs(to - from) * height;
  const [start, end] = from < to ? [4, tall + 4] : [tall + 4, 4];
  const x = 9 + (lane % LANES) * LANE;
  const turn = from < to ? 3 : -3;
  return (
    <svg
      className={`pointer-events-none absolute right-0 w-7 ${stuck ? "text-bad" : "text-ink-2"}`}
      style={{ top: (Math.min(from, to) + 0.5) * height + 2, height: tall + 8 }}
      width={28}
      height={tall + 8}
      fill="none"
      stroke="currentColor"
      strokeWidth="1.25"
      aria-hidden="true"
    >
      <path
        d={`M1 ${start}H${x - 3}Q${x} ${start} ${x} ${start + turn}V${end - turn}Q${x} ${end} ${x - 3} ${end}H3`}
        {...(stuck ? { strokeDasharray: "3 2.5" } : {})}
      />
      <path d={`M6 ${end - 3}L2 ${end}l4 3z`} fill="currentColor" stroke="none" />
    </svg>
  );
}
