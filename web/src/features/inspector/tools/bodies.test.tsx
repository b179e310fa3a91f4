import { cleanup, render, screen } from '@testing-library/react';
import { afterEach, expect, test } from 'vitest';
import type { Schemas } from '../../../api/types';
import { ToolBody } from './bodies';

afterEach(cleanup);

const fetched = (facts: unknown): Schemas['ToolCallView'] => ({
  agent: 'main',
  call: '1.0',
  tool: 'web_fetch',
  args: '{"url":"http://a.example/"}',
  status: 'completed',
  text: 'what it says',
  facts,
});

test('a call shows the hosts that it reached, and the status of the page', () => {
  const facts = {
    fetched: [{ url: 'http://a.example/', status: 200 }],
    reached: [{ name: 'a.example', port: 80, sent: 312, received: 5_120_000 }],
  };
  render(<ToolBody conversation="c" call={fetched(facts)} />);
  expect(screen.getByLabelText('Hosts reached').textContent).toBe(
    'Reached a.example:80: 312 bytes sent, 5.12 MB received',
  );
  expect(screen.getByText('Page · status 200')).toBeTruthy();
});

test('a call that reached no host says nothing of hosts', () => {
  render(<ToolBody conversation="c" call={fetched(undefined)} />);
  expect(screen.queryByLabelText('Hosts reached')).toBeNull();
});
