/** The types of channels with presence. */

/** A member of a channel with presence. */
export interface Member {
  /** The socket. Its id is valid on its node only. */
  socketId: number;
  /** The node that has the socket, as in `clusterInfo`. */
  node: string;
  /** When it became a member, in milliseconds of Unix time. */
  since: number;
  /** What it says of itself, or the application of it; undefined without. */
  info: unknown;
}

/** The members of a channel. */
export interface Presence {
  /** In the order of their nodes and socket ids. */
  members: Member[];
}

/** How many members a channel has. */
export interface PresenceCount {
  /** How many different values of `info` they have; to have none is one of them. A user with several tabs is one member. */
  members: number;
  /** How many sockets there are. */
  sockets: number;
}
