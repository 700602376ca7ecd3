// Starts with a frozen and with an ordinary options object, and returns whether they are unchanged.
export default async function optionsUntouched(millrace, workerPath) {
  const options = { bind: ['127.0.0.1:0'], workerPath, threads: 1, limits: { messageBytes: 1024 } };
  const before = JSON.stringify(options);
  const server = await millrace.start(options);
  await server.stop({ drain: 0 });
  const frozen = Object.freeze({
    ...options,
    bind: Object.freeze([...options.bind]),
    limits: Object.freeze({ ...options.limits }),
  });
  const again = await millrace.start(frozen);
  await again.stop({ drain: 0 });
  return { unchanged: JSON.stringify(options) === before, frozen: true };
}
