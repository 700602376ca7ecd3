// Apps of several frameworks in one worker, each unchanged: the first part of the path selects one.
import 'reflect-metadata';
import { createServer } from 'node:http';

import { Body, Controller, Get, HttpException, Module, Param, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import express from 'express';
import express4 from 'express4';
import fastify from 'fastify';
import Koa from 'koa';

/** The frameworks' apps, by the first part of the paths that they answer. */
export const APPS = {
  express: () => expressApp(express),
  express4: () => expressApp(express4),
  koa: koaApp,
  fastify: fastifyApp,
  nest: nestApp,
  server: () => createServer((req, res) => res.end(JSON.stringify({ url: req.url }))),
};

function expressApp(make) {
  const app = make();
  app.use(make.json());
  app.get('/:app/hello', (req, res) => res.json({ hello: 'world', url: req.url }));
  app.post('/:app/echo', (req, res) => res.status(201).send(req.body));
  app.get('/:app/throw', () => {
    throw new Error('thrown');
  });
  return app.set('env', 'production');
}

function koaApp() {
  const app = new Koa();
  app.silent = true;
  app.use(async (ctx, next) => {
    ctx.set('X-Before', '1');
    await next();
    ctx.append('X-After', String(ctx.status));
  });
  app.use(async (ctx) => {
    if (ctx.path.endsWith('/throw')) ctx.throw(418, 'thrown');
    if (ctx.path.endsWith('/error')) throw new Error('hidden');
    if (ctx.path.endsWith('/redirect')) return ctx.redirect('/elsewhere');
    if (ctx.method !== 'POST') {
      ctx.body = { hello: 'world', ip: ctx.ip, protocol: ctx.protocol, fresh: ctx.fresh };
      return;
    }
    // a stream as the answer: the request's own body
    ctx.type = 'bin';
    ctx.body = ctx.req;
  });
  return app;
}

function fastifyApp() {
  const app = fastify();
  app.addHook('onRequest', async (_request, reply) => void reply.header('X-Hook', 'on'));
  app.get('/fastify/hello', async (request) => ({ hello: 'world', ip: request.ip, host: request.host }));
  app.post('/fastify/echo', (request, reply) => reply.code(201).send(request.body));
  app.get('/fastify/throw', async () => {
    throw Object.assign(new Error('thrown'), { statusCode: 418 });
  });
  app.get('/fastify/raw', (_request, reply) => {
    reply.hijack();
    reply.raw.writeHead(202, { 'X-Raw': '1' });
    reply.raw.end('raw');
  });
  app.get('/fastify/schema', { schema: { querystring: { type: 'object', required: ['n'] } } }, () => 'never');
  return app;
}

function nestApp() {
  class Cats {
    hello() {
      return { hello: 'world' };
    }
    one(id) {
      if (id === 'throw') throw new HttpException('thrown', 418);
      return { id };
    }
    echo(body) {
      return body;
    }
  }
  const decorate = (name, decorator, ...parameters) => {
    for (const [index, parameter] of parameters.entries()) parameter(Cats.prototype, name, index);
    decorator(Cats.prototype, name, Object.getOwnPropertyDescriptor(Cats.prototype, name));
  };
  decorate('hello', Get('hello'));
  decorate('one', Get(':id'), Param('id'));
  decorate('echo', Post('echo'), Body());
  Controller('nest')(Cats);
  class Root {}
  Module({ controllers: [Cats] })(Root);
  return NestFactory.create(Root, { logger: false });
}

/** The argument of `http.createServer` for the app of a framework. */
export async function plainListener(app) {
  const made = await app;
  if (typeof made.getHttpAdapter === 'function') {
    await made.init();
    return made.getHttpAdapter().getInstance();
  }
  if (typeof made.ready === 'function') {
    await made.ready();
    return made.routing;
  }
  if (typeof made === 'function') return made;
  if (typeof made.callback === 'function') return made.callback();
  return (req, res) => made.emit('request', req, res);
}
