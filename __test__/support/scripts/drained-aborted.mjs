// Aborts a wait for an outbox, while it waits and before: the reasons of the rejections. Then closes the socket, whose
// last wait tells that.
export default async function (millrace, socketId) {
  const controller = new AbortController();
  const reason = (waiting) => waiting.catch((error) => error);
  const waiting = reason(millrace.drained(socketId, { signal: controller.signal, timeoutMs: 60_000 }));
  setTimeout(() => controller.abort('enough'), 50);
  const first = await waiting;
  const second = await reason(millrace.drained(socketId, { signal: AbortSignal.abort('early') }));
  const last = millrace.drained(socketId, { signal: new AbortController().signal });
  millrace.close(socketId, 4000);
  return [first, second, await last];
}
