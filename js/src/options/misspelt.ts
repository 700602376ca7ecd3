/** Finds the known name that was probably meant by an unknown one. */

/** Returns the known name that differs least from the unknown one, if it is so close that a slip explains the difference. */
export function closestName(unknown: string, known: readonly string[]): string | undefined {
  if (unknown.length > LONGEST) return undefined;
  let closest: string | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const name of known) {
    const count = edits(unknown.toLowerCase(), name.toLowerCase());
    const most = Math.min(MOST_EDITS, Math.floor(name.length / 4));
    if (count <= most && count < fewest) [closest, fewest] = [name, count];
  }
  return closest;
}

/** How many characters have to be inserted, removed, replaced or exchanged with their neighbour to turn one text into another. */
function edits(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? 0;
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    rows.push(current);
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      const exchanged = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current.push(
        Math.min(
          at(row - 1, column) + 1,
          at(row, column - 1) + 1,
          at(row - 1, column - 1) + (same ? 0 : 1),
          exchanged ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
  }
  return at(from.length, to.length);
}

/** The most differences that still look like a slip. */
const MOST_EDITS = 2;

/** The longest text that is compared, in characters. */
const LONGEST = 40;
