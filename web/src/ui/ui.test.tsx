import { act, cleanup, render, screen } from '@testing-library/react';
import { afterEach, describe, expect, it } from 'vitest';
import { hearTime } from '../api/servertime';
import { Duration } from './clock';
import { ago, duration, money, plural, tokens } from './format';
import { roleHue, roleName } from './role';
import { StatusBadge, shownOf } from './status';
import { Visible, visible } from './visible';

afterEach(cleanup);

describe('Visible', () => {
  it('writes what cannot be seen as its number', () => {
    const { container } = render(<Visible text={'ls\u202e rm\u200b \u{e0041}x\u0007'} />);
    for (const name of ['U+202E', 'U+200B', 'U+E0041', 'U+0007']) {
      expect(screen.getByText(name)).toBeTruthy();
    }
    expect(container.textContent).not.toMatch(/[\u200b\u202e]/);
  });

  it('leaves lines and tabs as they are', () => {
    const { container } = render(<Visible text={'a\n\tb'} />);
    expect(container.textContent).toBe('a\n\tb');
  });

  it('in running text leaves what belongs to a picture or a letter', () => {
    const harmless =
      '\u2764\ufe0f \u{1f468}\u{1f3fd}\u200d\u{1f4bb} 1\ufe0f\u20e3 \u0645\u06cc\u200c\u062e 10\u202f% a\r\nb';
    expect(visible(harmless)).toBe(harmless);
    const { container } = render(<p>{visible(`${harmless}x\u200dy\u202e z\ufe0f\u{e0041}`)}</p>);
    expect(container.textContent).toBe(`${harmless}xU+200DyU+202E zU+FE0FU+E0041`);
  });
});

describe('status', () => {
  it('is amber only when a person is waited for', () => {
    const statuses = [
      ...(['queued', 'pending', 'running', 'completed'] as const),
      ...(['failed', 'cancelled', 'timed_out', 'waiting'] as const),
    ];
    for (const status of statuses) {
      const { container } = render(<StatusBadge shown={shownOf({ status })} />);
      const amber = container.querySelector('[data-s="you"]') !== null;
      expect(amber, status).toBe(status === 'waiting');
      cleanup();
    }
  });

  it('says what is waited for', () => {
    render(<StatusBadge shown={shownOf({ status: 'waiting', waiting_reason: 'approval' })} />);
    expect(screen.getByText('Needs approval')).toBeTruthy();
    render(<StatusBadge shown={shownOf({ status: 'running' }, { agents: 3 })} agents={3} />);
    expect(screen.getByText('Waiting for 3 agents')).toBeTruthy();
  });
});

describe('roles', () => {
  it('are never near amber', () => {
    for (let i = 0; i < 500; i++) {
      const hue = roleHue(`role-${i}`);
      expect(Math.abs(hue - 72)).toBeGreaterThan(12);
    }
    expect(roleName('code_review')).toBe('Code review');
  });
});

describe('numbers for people', () => {
  it('are short', () => {
    expect([money(0), money(21_000), money(1_290_000), money(100)]).toEqual([
      ...['$0', '$0.021', '$1.29', '<$0.001'],
    ]);
    expect([duration(850), duration(84_000), duration(8 * 3_600_000)]).toEqual([
      ...['850ms', '1m 24s', '8h 00m'],
    ]);
    expect([tokens(950), tokens(1_500), tokens(32_000)]).toEqual(['950', '1.5k', '32k']);
    expect([plural(1, 'agent'), plural(3, 'agent')]).toEqual(['1 agent', '3 agents']);
    const now = Date.parse('2026-01-02T00:00:00Z');
    expect([ago('2026-01-01T23:59:30Z', now), ago('2026-01-01T22:00:00Z', now)]).toEqual([
      ...['now', '2h'],
    ]);
  });
});

describe('the clock', () => {
  it('is right as soon as it is known that the browser is not', () => {
    const now = new Date(Date.now() - 3_600_000);
    const { container } = render(<Duration from={now.toISOString()} />);
    expect(container.textContent).toBe('1h 00m');
    act(() => hearTime(new Response('', { headers: { Date: now.toUTCString() } })));
    expect(container.textContent).toMatch(/^[12]s$/);
    act(() => hearTime(new Response('', { headers: { Date: new Date().toUTCString() } })));
  });
});
