// Waits for the outbox of one socket more often than is allowed: how many calls wait, and the code with which the others
// are rejected. Then the socket is closed.
export default async function (millrace, socketId) {
  const answers = [];
  const codes = new Set();
  const refused = [];
  for (let count = 0; count < 65_540; count++) {
    const waiting = millrace.drained(socketId);
    answers.push(waiting.catch((error) => error.code));
    waiting.catch((error) => refused.push(error.code) && codes.add(error.code));
  }
  await new Promise((resolve) => setTimeout(resolve));
  millrace.close(socketId, 4000);
  const all = await Promise.all(answers);
  const again = await millrace.drained(socketId);
  return { refused: refused.length, codes: [...codes], closed: all.filter((one) => one === false).length, again };
}
