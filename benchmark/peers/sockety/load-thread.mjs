// One client thread: a closed loop that keeps so many tasks under way, and begins a new one as soon as one ends.
import { parentPort, workerData } from 'node:worker_threads';

const { row, client } = workerData;
const { open } = await import(`./tasks-${client}.mjs`);
const tasks = await open(workerData);

/** Tasks for so many milliseconds. No new ones begin after that; the time runs until the last one ended. */
function run(milliseconds) {
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    let done = 0;
    let running = 0;
    let over = false;
    // Tasks can end without the system's doing, and would keep everything else from its turn: so many begin in one turn.
    let free = row.atOnce;
    let waiting = 0;
    const ended = () => {
      running--;
      done++;
      if (!over) next();
      else if (running === 0) resolve({ done, ms: performance.now() - begun });
    };
    const next = () => {
      if (free === 0) {
        waiting++;
        return;
      }
      if (free === row.atOnce) setImmediate(turn);
      free--;
      running++;
      tasks.task().then(ended, reject);
    };
    const turn = () => {
      free = row.atOnce;
      const due = over ? 0 : waiting;
      waiting = 0;
      for (let i = 0; i < due; i++) next();
      if (over && running === 0) resolve({ done, ms: performance.now() - begun });
    };
    setTimeout(() => {
      over = true;
    }, milliseconds);
    for (let i = 0; i < row.atOnce; i++) next();
  });
}

const orders = { run: ({ ms }) => run(ms), count: () => tasks.count(), close: () => tasks.close() };
parentPort.on('message', async (order) => {
  // an error ends the thread, which its owner notices
  parentPort.postMessage(await orders[order.what](order));
});
parentPort.postMessage({ counted: tasks.counted });
