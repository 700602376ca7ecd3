// Answers through the gateway that handleStart got, not through the functions of the package.
let gateway;

export function handleStart(_arg, given) {
  gateway = given;
}

export function handleTextMessage(text, socketId) {
  const { n } = JSON.parse(text);
  const value = { $: 'object', entries: [['answered', 'by own gateway']] };
  gateway.send(socketId, JSON.stringify({ re: n, value }));
}
