/** State of all nodes of the backplane. Types only. */

/** The answers of all nodes. */
export interface ClusterInfo {
  /** The nodes that are alive. This node is the first. */
  nodes: ClusterNode[];
  /**
   * For each channel of the call, in the same order: its subscribers on all nodes. Subscribers by pattern are not
   * counted.
   */
  subscribers: number[];
  /** Whether every known node answered in time. False while there is no link to the other nodes. */
  isComplete: boolean;
}

/** One node. */
export interface ClusterNode {
  /** Unique among the nodes of the backplane, and new at each start. `'0000000000000000'` without a backplane. */
  id: string;
  /** Whether this is the node that was asked. */
  isSelf: boolean;
  /** Real sockets that are open on the node. */
  sockets: number;
  /** Channels on the node that have a subscription. */
  channels: number;
  /** Subscriptions on the node. */
  subscriptions: number;
}
