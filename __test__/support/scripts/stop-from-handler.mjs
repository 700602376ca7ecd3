// Starts a server that a handler on the same thread stops (see workers/stopper.mjs).
export default async function stopFromHandler(millrace, workerPath) {
  const server = await millrace.start({ bind: '127.0.0.1:0', workerPath, threads: 0, ioThreads: 1 });
  process.once('stop server', () => server.stop());
  return server.addresses;
}
