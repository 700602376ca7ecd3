// Starts with options and limits of protocols while all objects inherit an enumerable property; returns the addresses.
export default async function pollutedPrototype(millrace) {
  const users = [{ name: 'a', password: 'b', channels: ['c*'] }];
  const bind = [
    { address: '127.0.0.1:0', static: { directory: '.' }, limits: { bodyBytes: 1024 } },
    { address: '127.0.0.1:0', protocol: 'resp', users, limits: { keysBytes: 1024 } },
  ];
  Object.prototype.inherited = 5;
  try {
    const server = await millrace.start({ bind, handlers: { handleTextMessage() {} } });
    await server.stop({ drain: 0 });
    return server.addresses.length;
  } finally {
    delete Object.prototype.inherited;
  }
}
