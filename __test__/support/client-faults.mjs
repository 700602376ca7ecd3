// Fifty faults of the link while a client receives and publishes.
import { until } from './deadline.mjs';

/** How a link fails; each gets the connection of the moment and a function that publishes. */
const FAULTS = {
  cut: (session) => session.cut(),
  'cut amid messages': (session, publish) => {
    publish(5);
    session.cut();
    publish(5);
  },
  restart: (session) => session.close(1012, 'retry=1'),
  'half-open': (session, publish) => {
    session.halfOpen();
    publish(5);
  },
  /** What it held back comes when the client has a new link. */
  stall: async (session, publish, next) => {
    const release = session.stall();
    publish(5);
    await next();
    release();
    session.cut();
  },
};

/** Makes the faults, and resolves with how many numbers it has published to `numbers`, from 1. */
export async function fiftyFaults(server) {
  let published = 0;
  const publish = (count) => {
    for (let index = 0; index < count; index++) server.publish('numbers', `${++published}`);
  };
  await subscribed(server, 1);
  for (let round = 0; round < 50; round++) {
    const names = Object.keys(FAULTS);
    const name = names[round % names.length];
    const { current } = server;
    const before = server.sessions.length;
    publish(3);
    await FAULTS[name](current, publish, () => subscribed(server, before + 1));
    await subscribed(server, before + 1);
    publish(2);
  }
  return published;
}

/** Resolves when the newest connection is subscribed, and is not the one before. */
async function subscribed(server, number) {
  const channel = server.channels.get('numbers');
  await until(
    () => server.sessions.length >= number && channel.members.has(server.sessions.at(-1)),
    `subscription of connection ${number}`,
  );
}

/** 1 to `count` */
export const numbers = (count) => Array.from({ length: count }, (_, index) => index + 1);
