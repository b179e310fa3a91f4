// The real program, with a model whose answers are written down. Each file of scenarios has one of its own.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server as Listener } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { until } from './until.ts';

const root = resolve(import.meta.dirname, '../../..');
const program = process.env.RETINUE_PROGRAM ?? join(root, 'bin/retinue-full');

/** How long a program may take until it says that it is ready, on a machine that has other things to do. */
const STARTING = 90_000;

export interface Options {
  /** What the model answers, in the language of docs/scripted.md. */
  script: string;
  /** Settings beside those that lead to the model, as `--set` takes them. */
  settings?: Record<string, string>;
  /** Files of the folder that agents work in. */
  files?: Record<string, string>;
  /** Files of the person's settings: `retinue.yaml`, roles in `agents/`. */
  config?: Record<string, string>;
  /** Fills the data folder before the server begins. */
  prepare?: (data: string) => Promise<void>;
}

export class Server {
  url = '';
  /** What lets programs in. */
  token = '';
  private code = '';
  readonly folder = mkdtempSync(join(tmpdir(), 'retinue-web-'));
  private model: ChildProcess | undefined;
  private modelURL = '';
  private process: ChildProcess | undefined;
  private port = 0;
  private held: Listener | undefined;

  private readonly options: Options;

  private constructor(options: Options) {
    this.options = options;
  }

  static async start(options: Options): Promise<Server> {
    const server = new Server(options);
    try {
      await server.begin();
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  get data(): string {
    return join(this.folder, 'data');
  }

  get workspace(): string {
    return join(this.folder, 'work');
  }

  private async begin(): Promise<void> {
    write(this.workspace, this.options.files ?? {});
    write(join(this.folder, 'home/.config/retinue'), this.options.config ?? {});
    const script = join(this.folder, 'script.yaml');
    writeFileSync(script, this.options.script);
    const told = /anthropic base url\s+(\S+)/;
    this.model = this.run(['scripted', '--script', script, '--listen', '127.0.0.1:0']);
    this.modelURL = (await said(this.model, told))[1] as string;
    await this.options.prepare?.(this.data);
    [this.port, this.held] = await holdPort();
    await this.up();
  }

  /** Starts the server, or starts it again where it was. */
  async up(): Promise<void> {
    const settings = {
      data_dir: this.data,
      'serve.address': `127.0.0.1:${this.port}`,
      'providers.demo.kind': 'anthropic',
      'providers.demo.base_url': this.modelURL,
      'providers.demo.key': '{env:WEB_KEY}',
      'providers.demo.concurrency': '64',
      'providers.demo.requests_per_minute': '100000',
      'tiers.fast': 'demo/fast',
      'tiers.balanced': 'demo/balanced',
      'tiers.strong': 'demo/strong',
      ...this.options.settings,
    };
    const set = Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]);
    this.process = this.run(['up', '--workspace', this.workspace, ...set]);
    const [, url, code] = await said(this.process, /(http:\/\/127\.0\.0\.1:\d+)\/#code=(\S+)/);
    this.url = url as string;
    this.code = code as string;
    this.token = readFileSync(join(this.data, 'api.token'), 'utf8').trim();
  }

  /** Ends the server without a warning, in the middle of whatever it does. */
  async kill(): Promise<void> {
    await ended(this.process, 'SIGKILL');
  }

  async stop(): Promise<void> {
    await ended(this.process, 'SIGTERM');
    await ended(this.model, 'SIGKILL');
    this.held?.close();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /** A code that lets one browser in: the one that was printed, then new ones. */
  async link(): Promise<string> {
    const code =
      this.code || (await this.api<{ url: string }>('/v1/links', {})).url.split('code=')[1];
    this.code = '';
    return code as string;
  }

  /** Asks the server what a program would ask it. */
  async api<T = Record<string, unknown>>(path: string, body?: unknown): Promise<T> {
    const answer = await fetch(this.url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        Authorization: `Bearer ${this.token}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': crypto.randomUUID(),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  }

  /** Begins a conversation, and gives its id. */
  async open(message: string): Promise<string> {
    return (await this.api<{ id: string }>('/v1/conversations', { message, title: message })).id;
  }

  say(conversation: string, text: string, more: object = {}): Promise<unknown> {
    return this.api(`/v1/conversations/${conversation}/messages`, { text, ...more });
  }

  /** What is known of a conversation, each task with the role of who does it. */
  async snapshot(conversation: string): Promise<Snapshot> {
    const found = await this.api<Snapshot>(`/v1/conversations/${conversation}`);
    const roles = new Map(found.agents.map((agent) => [agent.id, agent.role]));
    for (const task of found.tasks) task.role = roles.get(task.agent) ?? '';
    return found;
  }

  /** Waits until everything that was said is read, and nothing of it is under way. */
  async settled(conversation: string): Promise<Snapshot> {
    return until('the conversation comes to its end', async () => {
      const snapshot = await this.snapshot(conversation);
      const read = snapshot.messages.every(({ state }) => state === undefined || state === 'read');
      return read && snapshot.tasks.every(over) ? snapshot : undefined;
    });
  }

  private run(args: string[]): ChildProcess {
    const home = join(this.folder, 'home');
    return spawn(program, args, {
      cwd: this.workspace,
      env: { PATH: process.env.PATH, HOME: home, WEB_KEY: 'key' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }
}

export interface Task {
  id: string;
  agent: string;
  status: string;
  role: string;
}

export interface Snapshot {
  agents: { id: string; role: string }[];
  tasks: Task[];
  messages: { speaker: string; state?: string }[];
  approvals: { id: string; hash: string; status: string; agent: string; edited?: boolean }[];
  questions: { id: string; status: string; agent: string }[];
  [more: string]: unknown;
}

const over = (task: Task): boolean =>
  ['completed', 'failed', 'cancelled', 'timed_out'].includes(task.status);

function write(folder: string, files: Record<string, string>): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

/** Waits for a line that a program prints. */
async function said(child: ChildProcess, what: RegExp): Promise<RegExpExecArray> {
  let text = '';
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`${program} ${why}:\n${text}`));
    const timer = setTimeout(() => fail('did not come up'), STARTING);
    const read = (chunk: Buffer) => {
      text += chunk;
      const found = what.exec(text);
      if (!found) return;
      clearTimeout(timer);
      resolve(found);
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.on('exit', () => fail('ended'));
    child.on('error', (error) => fail(error.message));
  });
}

async function ended(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
  child.kill(signal);
  await gone;
  clearTimeout(timer);
}

/**
 * A free port for a server that is killed and comes back where it was, and what holds it. It lies below those that the
 * kernel gives to a program that asks for any: one of them could be given away before the server listens, and while it is dead.
 * Other scenarios are kept off by a listener on the same port of another address of this machine.
 */
async function holdPort(): Promise<[port: number, held: Listener]> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const held = await listenOn('127.0.0.2', port);
    if (!held) continue;
    const probe = await listenOn('127.0.0.1', port);
    if (!probe) {
      held.close();
      continue;
    }
    probe.close();
    await once(probe, 'close');
    return [port, held];
  }
}

/** Listens there, or gives nothing if somebody else does. */
function listenOn(address: string, port: number): Promise<Listener | undefined> {
  return new Promise((resolve, reject) => {
    const listener = createServer();
    listener.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error),
    );
    listener.listen(port, address, () => resolve(listener));
  });
}
