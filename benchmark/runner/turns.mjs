// Servers that run at the same time and take turns, one window each, so that noise affects all equally.

/** Runs a number of rounds; each run gets a window per round. Calls `keep` with each window and the number of its round. */
export async function takeTurns(runs, rounds, keep) {
  for (let round = 0; round < rounds; round++) {
    for (const run of runs) {
      await guarded(run, async () => keep(run, await oneWindow(run), round));
    }
  }
}

/** One window of a run whose generator is ready. */
export async function oneWindow(run) {
  run.load.step();
  return run.load.next();
}

/** Calls a function for all runs in parallel, while nothing is measured. */
export function each(runs, action) {
  return Promise.all(runs.map((run) => guarded(run, () => action(run))));
}

/** Keeps the first failure of a run, which is skipped from then on. */
export async function guarded(run, action) {
  if (run.error !== undefined) return;
  try {
    await action();
  } catch (error) {
    run.error = error.message;
  }
}

/** The median of each field over all windows, or true if it was ever true; and the spread of the main figure. */
export function median(windows, field) {
  if (windows.length === 0) return undefined;
  const summary = { ...windows[0], kind: 'median' };
  for (const [name, first] of Object.entries(summary)) {
    const column = windows.map((window) => window[name]);
    if (typeof first === 'number') summary[name] = column.sort((a, b) => a - b)[column.length >> 1];
    if (typeof first === 'boolean') summary[name] = column.some(Boolean);
  }
  const figures = windows.map((window) => window[field]);
  summary.spread_percent = ((Math.max(...figures) - Math.min(...figures)) / summary[field]) * 100;
  return summary;
}
