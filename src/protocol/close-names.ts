/** "Did you mean": names near a given one, nearest first. */

/** Edits between two words; gives up (Infinity) past `most`. */
export function editDistance(a: string, b: string, most = Number.POSITIVE_INFINITY): number {
  if (Math.abs(a.length - b.length) > most) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    if (Math.min(...next) > most) return Number.POSITIVE_INFINITY;
    row = next;
  }
  return row[b.length] ?? 0;
}

/** Up to `count` names; one that begins like the wanted goes first, one too far away is left out. */
export function closeNames(wanted: string, names: Iterable<string>, count = 3): string[] {
  const low = wanted.toLowerCase();
  const most = Math.max(3, Math.ceil(low.length / 2));
  const ranked: { name: string; distance: number }[] = [];
  for (const name of names) {
    const other = name.toLowerCase();
    const begins = other.length > 0 && low.length > 0 && (other.startsWith(low) || low.startsWith(other));
    const distance = begins ? 0 : editDistance(low, other, most);
    if (distance <= most) ranked.push({ name, distance });
  }
  ranked.sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1));
  return ranked.slice(0, count).map((entry) => entry.name);
}
