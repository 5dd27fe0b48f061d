/** An agent's tile. Its own colour gives only the hue; lightness and chroma are fixed, so it never looks like a state. */
const NAMED: Record<string, number> = {
  red: 25,
  orange: 55,
  amber: 75,
  yellow: 95,
  green: 150,
  teal: 180,
  cyan: 210,
  blue: 250,
  indigo: 275,
  violet: 300,
  purple: 310,
  pink: 350,
};

export function Tile({ name, color, className = "" }: { name: string; color?: string | undefined; className?: string }) {
  const letter = [...name.replace(/^[_.-]+/u, "")][0] ?? "?";
  return (
    <span className={`tile ${className}`} style={{ "--hue": hueOf(name, color) } as React.CSSProperties} aria-hidden="true">
      {letter}
    </span>
  );
}

function hueOf(name: string, color: string | undefined): number {
  if (color !== undefined) {
    const named = NAMED[color.toLowerCase()];
    if (named !== undefined) return named;
    const hex = /^#?([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/iu.exec(color);
    if (hex !== null) return hueOfRgb(hex.slice(1).map((part) => Number.parseInt(part, 16)));
  }
  const known: Record<string, number> = { guide: 165, tinker: 250, mishap: 20 };
  return known[name] ?? [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 360, 7);
}

function hueOfRgb([red = 0, green = 0, blue = 0]: number[]): number {
  const most = Math.max(red, green, blue);
  const span = most - Math.min(red, green, blue);
  if (span === 0) return 170;
  const hue = most === red ? ((green - blue) / span) % 6 : most === green ? (blue - red) / span + 2 : (red - green) / span + 4;
  return Math.round((hue * 60 + 390) % 360);
}
