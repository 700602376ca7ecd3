/** Channels with presence: the checks of arguments, and the calls. */

import type { NativeGateway } from '../addon/native-interface.js';
import { MillraceError } from '../errors.js';
import { shown } from '../options/fields.js';
import type { Member, Presence, PresenceCount } from './members.js';
import { answered, type Questions } from './questions.js';
import type { Name } from './target.js';

export type { Presence, PresenceCount } from './members.js';

/** Reads who is present. */
export async function presence(questions: Questions, channel: Name): Promise<Presence> {
  const members: Member[] = [];
  for (;;) {
    const last = members.at(-1);
    const page = questions.native.presence(channel, last?.node, last?.socketId, PAGE);
    if (page === undefined) throw noPresence();
    if (typeof page === 'number') {
      await answered(questions, page, unavailable);
      continue;
    }
    for (const { socketId, node, since, info } of page) {
      members.push({ socketId, node, since, info: info === undefined ? undefined : JSON.parse(info) });
    }
    if (page.length < PAGE) return { members };
  }
}

/** Counts who is present. */
export async function presenceCount(questions: Questions, channel: Name): Promise<PresenceCount> {
  for (;;) {
    const count = questions.native.presenceCount(channel);
    if (count === undefined) throw noPresence();
    if (typeof count !== 'number') return count;
    await answered(questions, count, unavailable);
  }
}

/** Replaces what a member says of itself. */
export function setPresence(native: NativeGateway, socketId: number, channel: Name, info: unknown): boolean {
  const isMember = native.setPresence(socketId, channel, infoText(info, "argument 'info'"));
  if (isMember === undefined) throw noPresence();
  return isMember;
}

/**
 * What a member says of itself, as JSON.
 *
 * @throws {TypeError} if it is no value of JSON, or too long
 */
export function infoText(info: unknown, name: string): string {
  const text = JSON.stringify(info) as string | undefined;
  if (text === undefined) throw new TypeError(`${name} must be a value of JSON, not ${shown(info)}`);
  const length = Buffer.byteLength(text);
  if (length > LONGEST) throw new TypeError(`${name} cannot exceed ${LONGEST} bytes of JSON, got ${length}`);
  return text;
}

/** What is thrown for a channel without presence. */
export function noPresence(): MillraceError {
  return new MillraceError('ERR_MILLRACE_NO_PRESENCE', "the channel's terms do not ask for presence");
}

function unavailable(): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_PRESENCE_UNAVAILABLE',
    'the gateway was stopped before the members of other nodes were known',
  );
}

/** How many members are read at once. */
const PAGE = 1000;

const LONGEST = 4096;
