// A TCP proxy on this machine whose links fail when a test says so: cut, stalled, half open, or refused. What is behind it is real.
import { once } from 'node:events';
import net from 'node:net';

import { connectOptions } from './http.mjs';

export class FaultyProxy {
  /** All links that were made, the last one last; those that ended, too. @type {Link[]} */
  links = [];
  /** Whether new connections are closed at once. */
  refuses = false;
  #server;

  /** Starts one on a free port in front of `address`; ends with the test. */
  static async start(t, address) {
    const proxy = new FaultyProxy();
    proxy.#server = net.createServer((client) => {
      client.on('error', () => {});
      if (proxy.refuses) client.destroy();
      else proxy.links.push(new Link(client, net.connect(connectOptions(address))));
    });
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    t.teardown(() => {
      for (const link of proxy.links) link.cut();
      proxy.#server.close();
    });
    return proxy;
  }

  get address() {
    return `127.0.0.1:${this.#server.address().port}`;
  }

  /** Cuts all links: both sides notice at once. */
  cut() {
    for (const link of this.links) link.cut();
  }

  /** All links carry nothing any more, and neither side is told. */
  halfOpen() {
    for (const link of this.links) link.halfOpen();
  }
}

class Link {
  #client;
  #server;
  /** Whether one end learns of the end of the other. */
  #isWhole = true;

  constructor(client, server) {
    this.#client = client;
    this.#server = server;
    for (const [from, to] of [
      [client, server],
      [server, client],
    ]) {
      from.pipe(to);
      from.on('error', () => {});
      from.on('close', () => {
        if (this.#isWhole) to.destroy();
      });
    }
  }

  /** By `destroy`: after `resetAndDestroy` of a socket that is ending already, Node.js 20 never exits. */
  cut() {
    for (const end of [this.#client, this.#server]) end.destroy();
  }

  halfOpen() {
    this.#isWhole = false;
    this.#unpipe();
    // what still comes is read and dropped
    for (const end of [this.#client, this.#server]) end.resume();
  }

  /** Holds everything back, in both directions, until the function that it returns is called. */
  stall() {
    this.#unpipe();
    for (const end of [this.#client, this.#server]) end.pause();
    return () => {
      if (this.#client.destroyed || this.#server.destroyed) return;
      this.#client.pipe(this.#server);
      this.#server.pipe(this.#client);
    };
  }

  #unpipe() {
    this.#client.unpipe();
    this.#server.unpipe();
  }
}
