// Peer: the example app of `qjs` with Express on Node.
import express from 'express';
import { ready } from '../peer.mjs';
import { usersApp } from './app.mjs';

const server = usersApp(express).listen(0, '127.0.0.1', () => ready(server.address().port));
server.keepAliveTimeout = 0;
