/** The types of the parameters that `pattern.ts` finds in a path. Types only. */

import type { Params } from './pattern.js';

/**
 * The parameters that a path names: `'/rooms/:room'` gives `{ room: string }`. A rest may be empty, so `'/files/*'`
 * gives `{ '*'?: string }`, and `'/files/*name'` gives `{ name?: string }`. With several paths, a parameter that not
 * all of them have is optional. A path of the type `string` may have any parameters.
 */
export type RouteParams<Path extends string> = string extends Path
  ? Params
  : Flat<{ [Name in Always<Path>]: string } & { [Name in Exclude<Names<Path>, Always<Path>>]?: string }>;

type Flat<Type> = { [Key in keyof Type]: Type[Key] };

/** The names in any of the paths. */
type Names<Path extends string> = Path extends string ? Segments<Path> | Rest<Path> : never;

/** The parameters that every path has. */
type Always<Path extends string> = {
  [Name in Names<Path>]: false extends Has<Path, Name> ? never : Name;
}[Names<Path>];

type Has<Path extends string, Name> = Path extends string ? (Name extends Segments<Path> ? true : false) : never;

/** The names after a colon. */
type Segments<Path extends string> = Path extends `${string}:${infer After}`
  ? Word<After> extends [infer Name extends string, infer Left extends string]
    ? (Name extends '' ? never : Name) | Segments<Left>
    : never
  : never;

/** The name of a `*` or `*name` in the last segment. */
type Rest<Path extends string> =
  Last<Path> extends `*${infer Name}`
    ? Word<Name> extends [Name, '']
      ? Name extends ''
        ? '*'
        : Name
      : never
    : never;

type Last<Path extends string> = Path extends `${string}/${infer After}` ? Last<After> : Path;

/** The word at the beginning of a text, and the rest. */
type Word<Text extends string, Before extends string = ''> = Text extends `${infer First}${infer After}`
  ? First extends Letter
    ? Word<After, `${Before}${First}`>
    : [Before, Text]
  : [Before, ''];

type Letter = Lower | Uppercase<Lower> | '0' | '1' | '2' | '3' | '4' | '5' | '6' | '7' | '8' | '9' | '_';

type Lower =
  | ('a' | 'b' | 'c' | 'd' | 'e' | 'f' | 'g' | 'h' | 'i' | 'j' | 'k' | 'l' | 'm')
  | ('n' | 'o' | 'p' | 'q' | 'r' | 's' | 't' | 'u' | 'v' | 'w' | 'x' | 'y' | 'z');
