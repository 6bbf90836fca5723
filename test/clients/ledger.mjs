// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// What the programs for Node.js have in common: the other side of test/client/programs.go.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";

const perRead = 500;

// run takes the task, lets open make a client of it, writes until standard input ends, and reads back. A client is
// { set(key, value), get(keys), close() }; how it finds the server, and what it does when that goes away, is the library's own.
export async function run(open) {
  const lines = createInterface({ input: process.stdin });
  const ended = new Promise((resolve) => lines.once("close", resolve));
  const task = JSON.parse(await new Promise((resolve) => lines.once("line", resolve)));
  const client = await open({ ...task, sentinels: (task.sentinels ?? []).map(place), addr: task.addr && place(task.addr) }, trust(task));
  const state = { over: false, acknowledged: [] };
  ended.then(() => (state.over = true));
  await Promise.all(Array.from({ length: task.writers }, (_, number) => write(client, task, number, state)));
  say(`read ${await readBack(client, task, state.acknowledged)}`);
  await client.close();
  process.exit(0); // a library may keep timers
}

// quiet takes the events of a library that would end the program if nobody listened: what matters is what becomes of the writes.
export function quiet(client) {
  client.on("error", () => {});
  return client;
}

async function write(client, task, number, state) {
  for (let n = 0; !state.over; n++) {
    const began = Date.now();
    const key = `${task.prefix}:${number}:${n}`;
    try {
      await within(task.timeoutMillis, client.set(key, key));
      say(`ok ${key} ${Date.now()}`);
      state.acknowledged.push(key);
    } catch (error) {
      say(`no ${key} ${Date.now()} ${String(error?.message || error || "no cause").replaceAll("\n", " ")}`);
    }
    await pause(Math.max(0, task.everyMillis - (Date.now() - began)));
  }
}

async function readBack(client, task, keys) {
  const deadline = Date.now() + task.verifyMillis;
  for (;;) {
    try {
      let found = 0;
      for (let start = 0; start < keys.length; start += perRead) {
        const part = keys.slice(start, start + perRead);
        const values = await within(task.timeoutMillis, client.get(part));
        found += part.filter((key, i) => String(values[i]) === key).length;
      }
      return found;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await pause(200);
    }
  }
}

// within gives up an answer after a time, as an application would: some libraries wait for ever.
async function within(millis, answer) {
  const waiting = new AbortController();
  answer.catch(() => {}); // also after nobody waits for it
  try {
    return await Promise.race([
      answer,
      pause(millis, undefined, { signal: waiting.signal }).then(() => {
        throw new Error(`no answer within ${millis} ms`);
      }),
    ]);
  } finally {
    waiting.abort();
  }
}

function place(address) {
  const colon = address.lastIndexOf(":");
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
}

// trust is undefined without TLS.
function trust(task) {
  return task.ca ? { ca: readFileSync(task.ca) } : undefined;
}

function say(line) {
  process.stdout.write(line + "\n");
}
