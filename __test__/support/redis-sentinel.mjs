// A real Redis Sentinel on a free loopback port, ended with its test. Signals go only to the process that is started
// here.
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';

import { toolPath } from '../../scripts/optional-tools.mjs';
import { SOON, within } from './deadline.mjs';
import { folderFor } from './files.mjs';
import { freePort } from './ports.mjs';
import { exitOf, kill } from './teardown.mjs';

/** See the file. */
export class Sentinel {
  port = 0;
  #child;
  #exited;

  /**
   * One for a single test. `lines`: more lines of its configuration, such as when it calls a master dead (after 30 s).
   *
   * @param {string} name the name of the master
   * @param {{ port: number }} master a `Redis`
   */
  static async with(t, name, master, { quorum = 1, lines = [] } = {}) {
    const sentinel = new Sentinel();
    t.teardown(() => sentinel.stop());
    sentinel.port = await freePort();
    const file = path.join(folderFor(t, {}), 'sentinel.conf');
    const watched = [
      `sentinel monitor ${name} 127.0.0.1 ${master.port} ${quorum}`,
      `sentinel failover-timeout ${name} 3000`,
    ];
    const own = [`port ${sentinel.port}`, 'bind 127.0.0.1', 'daemonize no'];
    await writeFile(file, [...own, ...watched, ...lines, ''].join('\n'));
    await sentinel.#launch(file);
    return sentinel;
  }

  /** `host:port`. */
  get address() {
    return `127.0.0.1:${this.port}`;
  }

  /** Ends the process; resolves when it has ended. */
  async stop() {
    if (this.#child === undefined) return;
    kill(this.#child);
    await this.#exited;
  }

  async #launch(file) {
    this.#child = spawn(toolPath('redis-server'), [file, '--sentinel'], { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#exited = exitOf(this.#child);
    let output = '';
    const ready = new Promise((resolve) => {
      for (const stream of [this.#child.stdout, this.#child.stderr]) {
        stream.on('data', (chunk) => {
          output = (output + chunk).slice(-16_384);
          if (output.includes('+monitor master')) resolve();
        });
      }
    });
    const died = this.#exited.then((how) => Promise.reject(new Error(`the Sentinel ended (${how}):\n${output}`)));
    died.catch(() => {});
    await within(Promise.race([ready, died]), () => `a Sentinel to be ready\n${output}`, 2 * SOON);
  }
}
