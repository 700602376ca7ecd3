// Starts a second server, calls its stop twice at the same time, and then once more.
export default async function stopTwice(millrace, workerPath) {
  const server = await millrace.start({ bind: '127.0.0.1:0', workerPath, threads: 1 });
  await Promise.all([server.stop(), server.stop()]);
  await server.stop();
}
