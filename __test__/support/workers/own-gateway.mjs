// Answers through the gateway that handleStart was given, never through the module functions.
let gateway;

export function handleStart(_arg, given) {
  gateway = given;
}

export function handleTextMessage(text, socketId) {
  const { n } = JSON.parse(text);
  const value = { $: 'object', entries: [['answered', 'by own gateway']] };
  gateway.send(socketId, JSON.stringify({ re: n, value }));
}
