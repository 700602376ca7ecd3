/** What all nodes know together. Types only. */

/** All nodes, as they answered. */
export interface ClusterInfo {
  /** The nodes that are alive, this one first. */
  nodes: ClusterNode[];
  /** Of each channel that was asked for, in the same order: its subscribers on all nodes, those of patterns not counted. */
  subscribers: number[];
  /** Whether every node that was known has answered in time. False where there is no link to the others at the moment. */
  isComplete: boolean;
}

/** One node. */
export interface ClusterNode {
  /** Of no other node of the backplane, and a new one with each start; `'0000000000000000'` without a backplane. */
  id: string;
  /** Whether it is the one that asks. */
  isSelf: boolean;
  /** Real sockets open there. */
  sockets: number;
  /** Channels with a subscription there. */
  channels: number;
  /** Subscriptions there. */
  subscriptions: number;
}
