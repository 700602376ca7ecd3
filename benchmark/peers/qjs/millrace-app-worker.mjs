// The worker of the Millrace peer in `qjs`: the example app.
import express from 'millrace/http';
import { usersApp } from './app.mjs';

export default usersApp(express);
