// What a program reads of a channel with many members. `changes`: each says something of itself first.
export default async function crowd(millrace, channel, changes) {
  const read = async () => (await millrace.presence(channel)).members;
  if (changes) for (const { socketId } of await read()) await millrace.setPresence(socketId, channel, socketId % 100);
  const members = await read();
  const ids = members.map(({ socketId }) => socketId);
  return {
    count: await millrace.presenceCount(channel),
    members: ids.length,
    isSorted: ids.every((id, index) => index === 0 || ids[index - 1] < id),
    areRight: members.every(({ socketId, info }) => info === undefined || info === socketId % 100),
    said: new Set(members.map(({ info }) => info)).size,
  };
}
