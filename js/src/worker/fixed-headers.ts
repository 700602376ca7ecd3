/** Headers that many answers have, in the form in which the native side takes them. Checks nothing. */

/** See the module. */
export class FixedHeaders {
  /** Names and values, alternating. */
  readonly list: readonly string[];
  /** The same in one text. */
  readonly text: string;

  constructor(list: readonly string[]) {
    this.list = list;
    this.text = textOf(list);
  }
}

/** Names and values in one text, separated by zero characters. */
export function textOf(headers: readonly string[]): string {
  return headers.length === 2 ? `${headers[0]}\0${headers[1]}` : headers.join('\0');
}
