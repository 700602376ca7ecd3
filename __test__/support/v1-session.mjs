// A connection of the server in the tests that speaks millrace.v1.

/** What each message of a client must have, and may have, with its type. */
const FORMS = {
  sub: [
    { id: 'number', c: 'string' },
    { since: 'object', last: 'number', info: 'any' },
  ],
  unsub: [{ id: 'number', c: 'string' }, {}],
  pub: [{ c: 'string', id: 'number', key: 'string' }, {}],
  call: [{ id: 'number', m: 'string' }, {}],
  hist: [
    { id: 'number', c: 'string' },
    { since: 'object', limit: 'number', reverse: 'boolean' },
  ],
  pres: [{ id: 'number', c: 'string', limit: 'number' }, { after: 'string' }],
  info: [{ id: 'number', c: 'string', info: 'any' }, {}],
  ping: [{}, {}],
  ok: [{ id: 'any' }, {}],
  err: [{ id: 'any', code: 'string' }, { reason: 'string' }],
};
const WITH_PAYLOAD = ['pub', 'call', 'ok'];

export class V1Session {
  over = false;
  /** All headers that came, in order. */
  received = [];
  #server;
  #wire;
  #ids = new Set();
  #stalled;
  #muted = false;
  #calls = new Map();
  #lastCall = 0;

  constructor(server, id) {
    this.#server = server;
    this.id = id;
  }

  begin(wire) {
    this.#wire = wire;
    if (!this.#server.silent) this.send({ t: 'hi', v: 1, s: this.id, ping: this.#server.ping });
    this.#server.onSession?.(this);
  }

  /** Sends a message, later if the link stalls, never if it is half open. */
  send(header, payload) {
    if (this.over || this.#muted) return;
    const line = JSON.stringify(header);
    let message = line;
    if (typeof payload === 'string') message = `${line}\n${payload}`;
    else if (payload !== undefined) message = Buffer.concat([Buffer.from(`${line}\n`), payload]);
    if (this.#stalled) this.#stalled.push(message);
    else this.#wire.write(message);
  }

  /** Sends anything. */
  raw(message) {
    this.#wire.write(message);
  }

  close(code, reason = '') {
    this.#wire.close(code, reason);
  }

  cut() {
    this.#wire.cut();
    this.ended();
  }

  /** From now on the link carries nothing and does not end. */
  halfOpen() {
    this.#muted = true;
    this.#wire.mute();
    this.#server.channels.leave(this);
  }

  /** Holds back what is sent; the function that is returned sends it. */
  stall() {
    this.#stalled = [];
    return () => {
      const held = this.#stalled;
      this.#stalled = undefined;
      for (const message of held) if (!this.over) this.#wire.write(message);
    };
  }

  ended() {
    this.over = true;
    this.#server.channels.leave(this);
  }

  /** Calls a method of the client; resolves with `{header, payload}`. */
  call(method, payload) {
    const id = `c${++this.#lastCall}`;
    this.send({ t: 'call', id, m: method }, payload);
    return new Promise((resolve) => this.#calls.set(id, resolve));
  }

  /** Takes a message. Kinds of payloads are checked by those who read them. */
  receive(data, isBinary) {
    if (this.#muted || this.over) return;
    const at = data.indexOf(10);
    const header = JSON.parse(data.toString('utf8', 0, at < 0 ? data.length : at));
    const bytes = at < 0 ? undefined : data.subarray(at + 1);
    const payload = isBinary ? bytes : bytes?.toString();
    this.#check(header, payload);
    this.received.push(header);
    const { t, id } = header;
    if (t === 'ok' || t === 'err') {
      this.#calls.get(id)({ header, payload });
      this.#calls.delete(id);
    } else this[`_${t}`]?.(header, payload);
  }

  #check({ t, ...fields }, payload) {
    const violate = (what) => this.#server.violations.push(`${what} in ${JSON.stringify({ t, ...fields })}`);
    if (!Object.hasOwn(FORMS, t)) return violate('unknown t');
    const [required, optional] = FORMS[t];
    for (const [name, value] of Object.entries(fields)) {
      const type = required[name] ?? optional[name];
      if (type === undefined) violate(`field ${name}`);
      else if (type !== 'any' && typeof value !== type) violate(`type of ${name}`);
    }
    for (const name of Object.keys(required)) if (!(name in fields)) violate(`no ${name}`);
    if (payload !== undefined && !WITH_PAYLOAD.includes(t)) violate('payload');
    if (t === 'pub' && payload === undefined) violate('no payload');
    if (fields.since && (typeof fields.since.e !== 'string' || !Number.isInteger(fields.since.o))) violate('since');
    if (fields.since && fields.last !== undefined) violate('since and last');
    if (t === 'ok' || t === 'err' || t === 'ping') return;
    if (this.#ids.has(fields.id)) violate('id in use');
    this.#ids.add(fields.id);
  }

  #ok(id, more, payload) {
    this.#ids.delete(id);
    this.send({ t: 'ok', id, ...more }, payload);
  }

  #err(id, code, reason) {
    this.#ids.delete(id);
    this.send({ t: 'err', id, code, reason });
  }

  _ping() {
    this.send({ t: 'pong' });
  }

  _sub({ id, c, since, last, info }) {
    const channel = this.#server.channels.get(c);
    const refused = this.#server.refuse(c);
    if (refused) return this.#err(id, refused);
    if (channel.members.has(this)) return this.#err(id, 'bad', 'a second sub');
    const missed = since && since.e === channel.epoch ? channel.behind(since.o) : undefined;
    const recovered = since && channel.history ? missed !== undefined : undefined;
    const past = missed ?? (last ? channel.kept.slice(-last) : []);
    const follow = since || past.length === 0 ? undefined : past.length;
    this.#ok(id, { ...channel.position, recovered, last: follow });
    for (const { payload, ...header } of past) this.send(header, payload);
    this.#server.channels.subscribe(channel, this, { info });
  }

  _unsub({ id, c }) {
    this.#server.channels.unsubscribe(this.#server.channels.get(c), this);
    this.#ok(id);
  }

  _pub({ id, c, key }, payload) {
    const from = this.#server.from ? this.id : undefined;
    const position = this.#server.publish(c, payload, { key, from });
    if (!this.#server.lostAnswers) this.#ok(id, position);
  }

  _call({ id, m }, payload) {
    const method = this.#server.methods[m];
    if (!method) return this.#err(id, 'not_found');
    const answer = method(payload, this, id);
    if (answer !== undefined) this.#ok(id, {}, answer);
  }

  _hist({ id, c, since, limit = 100, reverse = false }) {
    const { kept, position } = this.#server.channels.get(c);
    let found = since ? kept.filter(({ o }) => o > since.o) : [...kept];
    if (reverse) found.reverse();
    found = found.slice(0, Math.min(limit, this.#server.page ?? limit));
    this.#ok(id, { ...position, n: found.length });
    for (const { payload, ...header } of found) this.send({ ...header, re: id }, payload);
  }

  _pres({ id, c, limit, after = '' }) {
    const { members } = this.#server.channels.get(c);
    const all = [...members].map(([{ id: s }, info]) => ({ s, info })).sort((one, other) => (one.s < other.s ? -1 : 1));
    const rest = all.filter(({ s }) => s > after);
    const page = rest.slice(0, Math.min(limit, this.#server.page ?? limit));
    this.#ok(id, { more: rest.length > page.length || undefined }, JSON.stringify(page));
  }

  _info({ id, c, info }) {
    this.#server.channels.setInfo(this.#server.channels.get(c), this, info);
    this.#ok(id);
  }
}
