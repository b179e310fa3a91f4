// Random histories for tests: events as a server would record them.

import fc from 'fast-check';
import type { Event } from '../api/types';
import { noUsage } from './usage';

export const conversation = 'c1';
const time = (seq: number) => new Date(Date.UTC(2026, 0, 1) + seq * 1000).toISOString();

/** Something a random history may do next; what does not fit the state is passed over. */
type Move = { kind: string; pick: number; text: string };

const moves = fc.array(
  fc.record({
    kind: fc.constantFrom(
      ...[
        'say',
        'deliver',
        'spawn',
        'start',
        'wait',
        'resume',
        'finish',
        'reply',
        'tool',
        'result',
      ],
      ...[
        'ask',
        'relay',
        'answer',
        'want',
        'decide',
        'close',
        'attempt',
        'respond',
        'note',
        'title',
      ],
      ...['void', 'stop', 'turn', 'gap', 'patch', 'share', 'archive'],
    ),
    pick: fc.nat(1000),
    text: fc.constantFrom('a', 'b', 'c'),
  }),
  { maxLength: 60 },
);

interface Task {
  id: string;
  agent: string;
  over: boolean;
  messages: number;
}

/** The events that moves make, in the order in which they happened. */
class Recorder {
  readonly events: Event[] = [];
  private seq = 0;
  private number = 0;
  private readonly tasks: Task[] = [];
  private readonly calls: { call: string; task: Task; open: boolean }[] = [];
  private readonly models: { call: string; task: Task; open: boolean }[] = [];
  private readonly questions: { id: string; task: Task; status: string }[] = [];
  private readonly approvals: { id: string; task: Task; status: string; call: string }[] = [];
  private readonly said: string[] = [];

  constructor() {
    this.emit('conversation.created', {
      by: 'ana',
      title: 'T',
      workspace: '',
      visibility: 'private',
    });
    this.spawn();
  }

  do({ kind, pick, text }: Move): void {
    const of = <T>(list: readonly T[]): T | undefined => list[pick % Math.max(1, list.length)];
    const live = of(this.tasks.filter((t) => !t.over));
    switch (kind) {
      case 'gap':
        this.seq++;
        return;
      case 'title':
        return this.emit('conversation.renamed', { title: text });
      case 'share':
        return this.emit('conversation.shared', { by: 'ana' });
      case 'archive':
        return this.emit('conversation.archived', { by: 'ana' });
      case 'say': {
        const id = `m${++this.number}`;
        this.said.push(id);
        const parts = [{ kind: 'text', text }];
        const message = { id, number: this.number, at: time(this.seq + 1), agent: '', by: 'ana' };
        return this.emit('message.received', { ...message, speaker: 'user', parts });
      }
      case 'deliver': {
        const message = of(this.said);
        return message ? this.emit('message.delivered', { message }) : undefined;
      }
      case 'stop':
        return this.emit('cancel.requested', { by: 'ana', ...(live ? { task: live.id } : {}) });
      case 'spawn':
        return this.spawn();
    }
    if (live) this.doTask(kind, pick, text, live);
    this.doAsk(kind, pick);
  }

  private spawn(): void {
    const agent = this.tasks.length === 0 ? 'main' : `main/${this.tasks.length}`;
    const task: Task = { id: agent, agent, over: false, messages: 0 };
    this.tasks.push(task);
    const above = agent === 'main' ? { depth: 0 } : { depth: 1, parent: 'main' };
    this.emit('agent.spawned', { ...above, role: 'coder', instruction: 'do it' }, task);
  }

  private doTask(kind: string, pick: number, text: string, task: Task): void {
    const key = `${kind}${this.seq}`;
    switch (kind) {
      case 'start':
        return this.emit('agent.started', { status: 'running' }, task);
      case 'resume':
        return this.emit('agent.resumed', { status: 'running' }, task);
      case 'wait':
        return this.emit('agent.waiting', { status: 'waiting', waiting_reason: 'approval' }, task);
      case 'finish':
        task.over = true;
        return this.emit('agent.failed', { status: 'failed', error_kind: 'limit' }, task);
      case 'patch':
        return this.emit('agent.patched', { files: [] }, task);
      case 'note':
        return this.emit('note.added', { note: 'answered', text }, task);
      case 'void':
        return this.emit('message.voided', { turn: pick % 4 }, task);
      case 'turn':
        return this.emit('turn.completed', { turn: pick % 4, status: 'completed' }, task);
      case 'reply':
      case 'tool': {
        const parts: object[] = [{ kind: 'text', text }];
        if (kind === 'tool') {
          this.calls.push({ call: key, task, open: true });
          parts.push({ kind: 'tool_use', call: key, tool: 'read_file', args: '{}' });
        }
        const reads = this.number > 0 ? { reads: [this.number] } : {};
        const id = `t${++task.messages}`; // as on the wire, unique in its agent only
        const message = { id, at: time(this.seq + 1), agent: task.agent, turn: pick % 4, parts };
        return this.emit('message.completed', { ...message, ...reads, speaker: 'assistant' }, task);
      }
      case 'attempt':
        this.models.push({ call: key, task, open: true });
        return this.emit('attempt.started', { call: key, type: 'turn', model: 'm' }, task);
      case 'ask': {
        this.questions.push({ id: key, task, status: 'open' });
        const question = { id: key, agent: task.agent, task: task.id, at: time(this.seq + 1) };
        return this.emit('question.asked', { ...question, status: 'open', text }, task);
      }
      case 'want': {
        this.approvals.push({ id: key, task, status: 'open', call: key });
        const asked = { id: key, agent: task.agent, task: task.id, call: key, tool: 'run' };
        const rest = { hash: 'h', status: 'open', at: time(this.seq + 1) };
        return this.emit('approval.requested', { ...asked, ...rest }, task);
      }
    }
  }

  private doAsk(kind: string, pick: number): void {
    const of = <T>(list: readonly T[]): T | undefined => list[pick % Math.max(1, list.length)];
    switch (kind) {
      case 'result': {
        const call = of(this.calls.filter((c) => c.open));
        if (!call) return;
        this.emit('tool.started', { call: call.call, attempt: 1 }, call.task);
        if (pick % 3 === 0) return;
        call.open = false;
        return this.emit('tool.returned', { call: call.call, status: 'completed' }, call.task);
      }
      case 'respond': {
        const model = of(this.models.filter((m) => m.open));
        if (!model) return;
        model.open = false;
        const usage = { ...noUsage, output: 1 + (pick % 9) };
        const data = { call: model.call, status: 'completed', usage };
        return this.emit('attempt.completed', data, model.task);
      }
      case 'relay': {
        const question = of(this.questions.filter((q) => q.status === 'open'));
        if (!question) return;
        question.status = 'relayed';
        return this.emit('question.relayed', { question: question.id }, question.task);
      }
      case 'answer': {
        const question = of(this.questions.filter((q) => q.status !== 'closed'));
        if (!question) return;
        question.status = 'closed';
        const data = { question: question.id, by: 'ana', text: 'yes' };
        return this.emit('question.answered', data, question.task);
      }
      case 'decide': {
        const approval = of(this.approvals.filter((a) => a.status === 'open'));
        if (!approval) return;
        approval.status = 'decided';
        const edited = pick % 3 === 0 ? { args: { path: 'a' } } : {};
        const data = { approval: approval.id, allow: true, by: 'ana', ...edited };
        return this.emit('approval.decided', data, approval.task);
      }
      case 'close': {
        const approval = of(this.approvals.filter((a) => a.status !== 'closed'));
        if (!approval) return;
        approval.status = 'closed';
        const data = { approval: approval.id, status: 'expired' };
        return this.emit('approval.expired', data, approval.task);
      }
    }
  }

  private emit(type: Event['type'], data: object, task?: Task): void {
    const seq = ++this.seq;
    const rows = ['message.received', 'message.completed', 'question.asked', 'approval.requested'];
    const full = rows.includes(type) ? { ...data, seq } : data;
    const about = task ? { agent_path: task.agent, task: task.id } : {};
    const event = { seq, type, ts: time(seq), conversation, ...about, data: full };
    this.events.push(event as unknown as Event);
  }
}

/** Whole histories. */
export const histories = moves.map((list) => {
  const recorder = new Recorder();
  for (const move of list) recorder.do(move);
  return recorder.events;
});
