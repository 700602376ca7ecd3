// One client thread: a closed loop that keeps a number of tasks in progress, and begins a new one when one ends.
import { parentPort, workerData } from 'node:worker_threads';

const { row, client } = workerData;
const { open } = await import(`./tasks-${client}.mjs`);
const tasks = await open(workerData);

/** Runs tasks for a number of milliseconds. It begins none after that; the measured time ends with the last task. */
function run(milliseconds) {
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    let done = 0;
    let running = 0;
    let over = false;
    // Tasks can end without I/O and would then block the event loop: limit how many begin in one turn.
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
  // an error ends the thread, and the main thread notices that
  parentPort.postMessage(await orders[order.what](order));
});
parentPort.postMessage({ counted: tasks.counted });
