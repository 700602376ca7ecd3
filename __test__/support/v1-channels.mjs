// The channels of the server in the tests that speaks millrace.v1: history with positions, and who is subscribed.
import { randomBytes } from 'node:crypto';

/** One channel. `history` is how many publications it keeps; zero: it has no positions. */
class Channel {
  offset = 0;
  epoch = randomBytes(6).toString('base64url');
  kept = [];
  keys = new Map();
  members = new Map();

  constructor(name, { history = 0, presence = false } = {}) {
    Object.assign(this, { name, history, presence });
  }

  get position() {
    return this.history ? { e: this.epoch, o: this.offset } : {};
  }

  /** Kept publications behind an offset; undefined: some of them are gone. */
  behind(offset) {
    const first = this.offset - this.kept.length;
    return offset < first ? undefined : this.kept.filter(({ o }) => o > offset);
  }

  renew() {
    Object.assign(this, { epoch: randomBytes(6).toString('base64url'), offset: 0, kept: [] });
    this.keys.clear();
  }
}

export class Channels {
  #all = new Map();
  #terms;

  /** `terms` says what a channel of a name has. */
  constructor(terms) {
    this.#terms = terms;
  }

  get(name) {
    let channel = this.#all.get(name);
    if (channel === undefined) {
      channel = new Channel(name, this.#terms(name));
      this.#all.set(name, channel);
    }
    return channel;
  }

  leave(session) {
    for (const channel of this.#all.values()) this.unsubscribe(channel, session);
  }

  unsubscribe(channel, session) {
    if (!channel.members.delete(session)) return;
    if (channel.presence) this.#tell(channel, { t: 'leave', c: channel.name, m: [{ s: session.id }] });
  }

  subscribe(channel, session, { info }) {
    if (channel.presence) this.#tell(channel, { t: 'join', c: channel.name, m: [{ s: session.id, info }] });
    channel.members.set(session, info);
  }

  setInfo(channel, session, info) {
    channel.members.set(session, info);
    this.#tell(channel, { t: 'update', c: channel.name, m: [{ s: session.id, info }] }, session);
  }

  #tell(channel, header, except) {
    for (const member of channel.members.keys()) if (member !== except) member.send(header);
  }

  /** Publishes; `except` is a session that gets the header alone, `lose` one that gets nothing. */
  publish(name, payload, { key, from, except, lose } = {}) {
    const channel = this.get(name);
    const earlier = key === undefined ? undefined : channel.keys.get(key);
    if (earlier !== undefined) return { e: channel.epoch, o: earlier };
    channel.offset += 1;
    const numbered = channel.history ? { o: channel.offset, ts: Date.now() } : {};
    const header = { c: name, ...numbered, f: from };
    if (channel.history) {
      channel.kept.push({ ...header, payload });
      if (key !== undefined) channel.keys.set(key, channel.offset);
      while (channel.kept.length > channel.history) channel.kept.shift();
    }
    for (const member of channel.members.keys()) {
      if (member === lose) continue;
      if (member === except) member.send({ ...header, x: 1 });
      else member.send(header, payload);
    }
    return channel.position;
  }
}
