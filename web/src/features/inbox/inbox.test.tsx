import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router';
import { act, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ListEvent, Waiting } from '../../api/types';
import { store } from '../../store/store';
import { TooltipProvider } from '../../ui/tooltip';
import { ARM } from '../asks/arm';
import { begin, playServer, type Sent, settle, tidy } from '../asks/fixture';
import { InboxPage } from './page';

beforeEach(begin);
afterEach(() => {
  act(() => store.change(({ list }) => list.load([], [])));
  tidy();
});

const item = (id: string, second: number): Waiting => ({
  conversation: 'c1',
  role: 'coder',
  at: `2026-01-01T00:00:${second}Z`,
  approval: {
    id,
    agent: 'main/1',
    task: 'main/1',
    call: id,
    tool: 'shell',
    hash: `hash of ${id}`,
    status: 'open',
    seq: second,
    at: `2026-01-01T00:00:${second}Z`,
    show: { command: `make ${id}` },
    pattern: 'make *',
  },
});

async function shown(answer?: (sent: Sent) => Response | undefined) {
  const sent = playServer(answer);
  act(() => store.change(({ list }) => list.load([], [item('late', 30), item('early', 10)])));
  const root = createRootRoute();
  const inbox = createRoute({ getParentRoute: () => root, path: '/inbox', component: InboxPage });
  const router = createRouter({
    routeTree: root.addChildren([inbox]),
    history: createMemoryHistory({ initialEntries: ['/inbox'] }),
  });
  render(
    <TooltipProvider>
      <RouterProvider router={router as never} />
    </TooltipProvider>,
  );
  // The cards are a script of their own.
  await Promise.all([import('../asks/approval'), import('../asks/question')]);
  await settle(10);
  await settle();
  return sent;
}

const rows = () => screen.getAllByRole('listitem').map((li) => li.textContent ?? '');
const tell = (event: object) => act(() => store.applyList(event as ListEvent));

describe('the inbox', () => {
  it('lists the oldest first and leads to the ask in its conversation', async () => {
    await shown();
    expect(rows().map((text) => /make [a-z]+/.exec(text)?.[0])).toEqual([
      'make early',
      'make late',
    ]);
    const [link] = screen.getAllByRole('link');
    expect(link?.getAttribute('href')).toBe('/c/c1?ask=early');
  });

  it('decides in place, with the hash of what is shown, and not at once', async () => {
    const sent = await shown();
    fireEvent.click(screen.getAllByRole('button', { name: /Review/ })[0] as HTMLElement);
    await settle(1);
    fireEvent.click(screen.getByRole('button', { name: /Allow once/ }));
    await settle(ARM);
    expect(sent).toEqual([]);
    fireEvent.click(screen.getByRole('button', { name: /Allow once/ }));
    await settle(30);
    expect(sent).toEqual([
      {
        path: '/v1/conversations/c1/approvals/early/decision',
        body: { allow: true, scope: 'once', hash: 'hash of early' },
      },
    ]);
    expect(rows()).toHaveLength(1);
    expect(rows()[0]).toContain('make late');
  });

  it('keeps what is open when it is answered elsewhere, and says what happened', async () => {
    await shown(({ path }) =>
      path === '/v1/conversations/c1/approvals/early'
        ? Response.json({ ...item('early', 10).approval, status: 'approved', by: 'Ana' })
        : undefined,
    );
    fireEvent.click(screen.getAllByRole('button', { name: /Review/ })[0] as HTMLElement);
    await settle(ARM);
    tell({ type: 'inbox.removed', conversation: 'c1', approval: 'early' });
    await settle(100);
    expect(rows()).toHaveLength(2);
    expect(rows()[0]).toContain('Allowed by Ana');
    expect(screen.queryByRole('button', { name: /Allow once/ })).toBeNull();
    fireEvent.click(screen.getByRole('button', { name: 'Close' }));
    await settle(50);
    expect(rows()).toHaveLength(1);
  });

  it('arms anew when what comes or goes has moved what is open', async () => {
    const sent = await shown();
    fireEvent.click(screen.getAllByRole('button', { name: /Review/ })[1] as HTMLElement);
    await settle(ARM);
    tell({ type: 'inbox.added', item: item('between', 20) });
    await settle(100);
    expect(rows().map((text) => /make [a-z]+/.exec(text)?.[0])).toEqual([
      'make early',
      'make between',
      'make late',
    ]);
    fireEvent.click(screen.getByRole('button', { name: /Allow once/ }));
    await settle(ARM);
    tell({ type: 'inbox.removed', conversation: 'c1', approval: 'early' });
    await settle(100);
    fireEvent.click(screen.getByRole('button', { name: /Allow once/ }));
    await settle(20);
    expect(sent).toEqual([]);
    await settle(ARM);
    fireEvent.click(screen.getByRole('button', { name: /Allow once/ }));
    await settle(20);
    expect(sent.map((s) => s.body.hash)).toEqual(['hash of late']);
  });
});
