import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router';
import { act, cleanup, render, screen, within } from '@testing-library/react';
import { afterEach, describe, expect, it } from 'vitest';
import type { Event, Schemas } from '../api/types';
import { store } from '../store/store';
import { TooltipProvider } from '../ui/tooltip';
import { Conversations } from './conversations';

afterEach(() => {
  cleanup();
  act(() => {
    for (const { id } of store.list.conversations.all()) {
      store.applyList({ type: 'conversation.removed', conversation: id });
    }
    store.forget('open');
  });
});

const at = '2026-01-01T00:00:00Z';
const listed = (id: string, running: number): Schemas['ListedConversation'] => ({
  ...{
    id,
    by: 'ada',
    title: id,
    workspace: '/w',
    archived: false,
    visibility: 'tenant',
    seq: 1,
    number: 1,
    running,
  },
  ...{ opened_at: at, updated_at: at },
});

let seq = 0;
const event = (type: string, agent: string, data: object): Event =>
  ({
    ...{ seq: ++seq, type, ts: at, conversation: 'open', agent_path: agent, task: agent },
    data,
  }) as unknown as Event;

const agents = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `main/1.0.${index}`);

const spawned = (ids: readonly string[]): Event[] => [
  event('agent.spawned', 'main', { depth: 0, role: 'orchestrator' }),
  ...ids.flatMap((id) => [
    event('agent.spawned', id, { depth: 1, role: 'coder', parent: 'main', instruction: id }),
    event('agent.completed', id, { status: 'completed' }),
  ]),
];

async function show(path: string): Promise<void> {
  const root = createRootRoute({ component: () => <Conversations /> });
  const routes = ['/c/$id', '/c/$id/timeline', '/new'].map((each) =>
    createRoute({ getParentRoute: () => root, path: each }),
  );
  const router = createRouter({
    routeTree: root.addChildren(routes),
    history: createMemoryHistory({ initialEntries: [path] }),
  });
  await act(async () => {
    render(
      <TooltipProvider>
        <RouterProvider router={router as never} />
      </TooltipProvider>,
    );
    await router.load();
  });
}

const group = (name: string) =>
  within(screen.getByRole('heading', { name }).parentElement as HTMLElement);

describe('the sidebar', () => {
  it('shows a conversation that runs where it belongs, as soon as the list is read', async () => {
    act(() => store.change(({ list }) => list.load([listed('busy', 1), listed('calm', 0)], [])));
    await show('/new');
    expect(group('Running').getByRole('link', { name: /busy Running/ })).toBeDefined();
    expect(group('Earlier').getByRole('link', { name: /calm/ })).toBeDefined();
  });

  it('says how a conversation ended, and hears of the next end', async () => {
    const row = { ...listed('halted', 0), last: 'cancelled' as const };
    act(() => store.change(({ list }) => list.load([row, listed('calm', 0)], [])));
    await show('/new');
    expect(group('Earlier').getByRole('link', { name: /halted Cancelled/ })).toBeDefined();
    const { running, last, ...conversation } = { ...row, last: 'failed' as const };
    const type = 'conversation.updated';
    act(() => store.applyList({ type, conversation, running, last, waiting: 0 }));
    expect(await group('Earlier').findByRole('link', { name: /halted Failed/ })).toBeDefined();
  });

  it('shows a few of a thousand agents, first of all those that wait, work or failed', async () => {
    const ids = agents(1_000);
    act(() => {
      store.apply('open', spawned(ids));
      const again = (index: number, type: string, status: string) => {
        const id = `${ids[index]}/again`;
        const data = { depth: 1, role: 'coder', parent: 'main', instruction: id };
        store.apply('open', [event('agent.spawned', id, data), event(type, id, { status })]);
      };
      again(1, 'agent.started', 'running');
      again(2, 'agent.failed', 'failed');
      const late = agents(30).map((id) => `${id}/late`);
      store.apply('open', spawned(late).slice(1));
      store.change(({ list }) => list.load([listed('open', 1)], []));
    });
    await show('/c/open');
    const list = within(screen.getByRole('list', { name: 'Agents in this conversation' }));
    expect(list.getAllByRole('listitem')).toHaveLength(13);
    expect(list.getByText('main/1.0.1/again')).toBeDefined();
    expect(list.getByText('main/1.0.2/again')).toBeDefined();
    expect(list.getByRole('link', { name: 'All 1,032 agents' })).toBeDefined();
  });
});
