/** The option `channels`: what applies to the messages of channels, by their names. */

import { NOTHING, readFlag, readNumber, readObject, shown } from './fields.js';

/** How much of a channel's past is kept: a message goes when the first of the two bounds is reached. */
export interface HistoryTerms {
  /** The most messages, 1 to 10,000. */
  messages: number;
  /** The age in milliseconds from which on a message is gone, at most 7 days. */
  ageMs: number;
}

/** What applies to the messages of the channels that a glob matches. */
export interface ChannelTerms {
  /**
   * Whether connections with `compression` may get the messages compressed. Default: true. Say false for what does not
   * get shorter, such as images.
   */
  compress?: boolean;
  /**
   * How much is kept, so that subscribers go on where they left off, and messages have positions. Default: nothing. With
   * `backplane` it is kept by that server: a Redis or Valkey, or NATS with JetStream.
   */
  history?: HistoryTerms;
  /**
   * Whether it is known who is there: members can be read and counted, and clients of `millrace.v1` are told of joins and
   * leaves. Default: false. With `backplane` the members are those of all nodes; its server is a Redis or Valkey, or NATS with JetStream.
   */
  presence?: boolean;
  /** What clients of the subprotocol `millrace.v1` may do without JavaScript being asked. Default: nothing. */
  clients?: ClientTerms;
}

/** What clients of the subprotocol `millrace.v1` may do in a channel without JavaScript being asked. */
export interface ClientTerms {
  /** Whether they may subscribe. Default: false. */
  subscribe?: boolean;
  /**
   * Whether they may publish, and whether the subscribers then see the publisher's socket id: `{ from: true }`. Default:
   * false.
   */
  publish?:
    | boolean
    | {
        /** Whether subscribers see the publisher's socket id. */
        from: boolean;
      };
  /** Whether they may say what the others see of them in a channel with presence. Default: false. */
  info?: boolean;
}

/**
 * The terms of channels, by globs as in `Pattern`: the first that matches a channel's name counts. At most 64. In an
 * object the order is the written one; keys that look like whole numbers would come first, so they need a list of
 * `[glob, terms]`.
 */
export type Channels = Readonly<Record<string, ChannelTerms>> | readonly (readonly [string, ChannelTerms])[];

/** Terms in the form of the native side. */
export interface ChannelPlan {
  pattern: string;
  compress: boolean;
  /** Whether clients may subscribe. */
  subscribe: boolean;
  /** Whether clients may publish. */
  publish: boolean;
  /** Whether subscribers see who has published. */
  showsPublisher: boolean;
  /** Whether clients may say what the others see of them. */
  info: boolean;
  presence?: boolean;
  history?: HistoryTerms;
}

/** Reads the option. */
export function readChannels(value: unknown, at: string, problems: string[]): ChannelPlan[] | undefined {
  if (value === undefined) return undefined;
  const entries = readEntries(value, at, problems);
  if (entries.length > MOST) problems.push(`${at} must have at most ${MOST} entries, not ${entries.length}`);
  return entries.map(({ pattern, terms, name }) => {
    const length = Buffer.byteLength(pattern);
    if (length > LONGEST) problems.push(`${name}: a pattern cannot exceed ${LONGEST} bytes, got ${length}`);
    const { compress, clients, history, presence } = readObject(terms, name, KEYS, problems);
    const plan: ChannelPlan = {
      pattern,
      compress: readFlag(compress, `${name}.compress`, problems) ?? true,
      ...readClients(clients, `${name}.clients`, problems),
    };
    const kept = readHistory(history, `${name}.history`, problems);
    if (kept !== undefined) plan.history = kept;
    if (readFlag(presence, `${name}.presence`, problems)) plan.presence = true;
    return plan;
  });
}

type ClientPlan = Pick<ChannelPlan, 'subscribe' | 'publish' | 'showsPublisher' | 'info'>;

function readClients(value: unknown, at: string, problems: string[]): ClientPlan {
  const { subscribe, publish, info } = value === undefined ? NOTHING : readObject(value, at, CLIENT_KEYS, problems);
  const showsPublisher = isObject(publish) && readFrom(publish, `${at}.publish`, problems);
  return {
    subscribe: readFlag(subscribe, `${at}.subscribe`, problems) ?? false,
    publish: isObject(publish) || (readPublish(publish, `${at}.publish`, problems) ?? false),
    showsPublisher,
    info: readFlag(info, `${at}.info`, problems) ?? false,
  };
}

function readFrom(value: object, at: string, problems: string[]): boolean {
  const { from } = readObject(value, at, ['from'], problems);
  return readFlag(from, `${at}.from`, problems) ?? false;
}

function readPublish(value: unknown, at: string, problems: string[]): boolean | undefined {
  if (value === undefined || typeof value === 'boolean') return value;
  problems.push(`${at} must be true, false or { from: true }, not ${shown(value)}`);
  return undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function readHistory(value: unknown, at: string, problems: string[]): HistoryTerms | undefined {
  if (value === undefined) return undefined;
  const fields = readObject(value, at, Object.keys(HISTORY), problems);
  const read = (name: keyof typeof HISTORY) => {
    // both are required
    const given = fields[name] ?? null;
    return readNumber(given, `${at}.${name}`, HISTORY[name], problems) ?? 1;
  };
  return fields === NOTHING ? undefined : { messages: read('messages'), ageMs: read('ageMs') };
}

interface Entry {
  pattern: string;
  terms: unknown;
  /** What problems call it. */
  name: string;
}

function readEntries(value: unknown, at: string, problems: string[]): Entry[] {
  if (Array.isArray(value)) {
    return value.flatMap((entry: unknown, index) => {
      const name = `${at}[${index}]`;
      if (Array.isArray(entry) && entry.length === 2 && typeof entry[0] === 'string') {
        return [{ pattern: entry[0], terms: entry[1] as unknown, name }];
      }
      problems.push(`${name} must be [glob, terms], not ${shown(entry)}`);
      return [];
    });
  }
  if (typeof value !== 'object' || value === null) {
    problems.push(`${at} must be an object or a list of [glob, terms], not ${shown(value)}`);
    return [];
  }
  return Object.entries(value).map(([pattern, terms]) => {
    const name = `${at}[${JSON.stringify(pattern)}]`;
    if (/^(?:0|[1-9][0-9]*)$/.test(pattern)) {
      problems.push(`${name}: the order of such keys is not the written one; use a list of [glob, terms]`);
    }
    return { pattern, terms: terms as unknown, name };
  });
}

const KEYS = ['compress', 'clients', 'history', 'presence'];

const CLIENT_KEYS = ['subscribe', 'publish', 'info'];

/** The bounds of what is kept. */
const HISTORY = {
  messages: { least: 1, most: 10_000 },
  ageMs: { least: 1, most: 7 * 24 * 60 * 60 * 1000 },
};

/** The most terms of a gateway. */
const MOST = 64;

/** The most bytes of a pattern. */
const LONGEST = 1024;
