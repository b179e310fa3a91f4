import { cleanup, render } from '@testing-library/react';
import fc from 'fast-check';
import { marked } from 'marked';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { BlockStream, splitBlocks } from './blocks';
import { Markdown, StreamingMarkdown } from './markdown';
import { mended } from './mend';

afterEach(cleanup);

const pieces = fc.constantFrom(
  '# Title',
  'a paragraph with **bold** and `code`',
  'another line',
  '- one\n- two',
  '  - nested',
  '1. first\n2. second',
  '```go\nfunc f() {}\n\nvar x = 1\n```',
  '~~~\nplain\n~~~',
  '> quoted\n> twice',
  '| a | b |\n|---|---|\n| 1 | 2 |',
  '---',
  '<b>html</b>',
  '',
);
const documents = fc
  .array(fc.tuple(pieces, fc.constantFrom('\n', '\n\n', '\n\n\n')), { maxLength: 12 })
  .map((list) => list.map(([piece, end]) => piece + end).join(''));

const trimmed = (blocks: string[]) => blocks.map((b) => b.trim()).filter((b) => b !== '');

describe('BlockStream', () => {
  it('gives the blocks of the whole text, however it is cut', () => {
    fc.assert(
      fc.property(documents, fc.array(fc.nat(9), { minLength: 1 }), (text, sizes) => {
        const stream = new BlockStream();
        for (let at = 0, turn = 0; at < text.length; turn++) {
          const size = 1 + (sizes[turn % sizes.length] ?? 0);
          stream.push(text.slice(at, at + size));
          at += size;
        }
        expect(trimmed(stream.all())).toEqual(trimmed(splitBlocks(text)));
      }),
      { numRuns: 1500 },
    );
  });

  it('reads a long block no more often than it has to', () => {
    const lexer = vi.spyOn(marked, 'lexer');
    for (const line of ['- an item\n\n', '| a | b |\n', 'x := 1\n\n']) {
      lexer.mockClear();
      const stream = new BlockStream();
      stream.push(
        line.startsWith('x') ? '```go\n' : line.startsWith('|') ? `${line}|--|--|\n` : line,
      );
      for (let i = 0; i < 2_000; i++) stream.push(line);
      const read = lexer.mock.calls.reduce((sum, [text]) => sum + text.length, 0);
      expect(read / (2_000 * line.length)).toBeLessThan(8);
    }
    lexer.mockRestore();
  });

  it('takes up a text that is another one', () => {
    const stream = new BlockStream()
      .sync('one\n\ntwo\n\nthree')
      .sync('one\n\nother\n\nthree\n\nfour');
    expect(trimmed(stream.all())).toEqual(['one', 'other', 'three', 'four']);
  });

  it('never changes a block that is followed by another two', () => {
    const stream = new BlockStream();
    stream.push('one\n\ntwo\n\nthree\n\nfour');
    const before = stream.all();
    stream.push(' and more\n\nfive');
    expect(stream.all().slice(0, 3)).toEqual(before.slice(0, 3));
  });
});

describe('Markdown', () => {
  it('shows no HTML, loads no image and follows no script', () => {
    const text =
      '<img src=x onerror=alert(1)> [x](javascript:alert(1)) ![p](https://evil.example/?d=1)\n\n<script>alert(1)</script>';
    const { container } = render(<Markdown text={text} />);
    expect(container.querySelector('img,script,a')).toBeNull();
    expect(container.textContent).toContain('<script>');
  });

  it('writes out what cannot be seen, wherever it stands', () => {
    const trick = 'pay\u202egpj.exe';
    const places = [trick, `\`${trick}\``, `# ${trick}`, `> ${trick}`, `- **${trick}**`];
    places.push(`| a |\n|---|\n| ${trick} |`, `\`\`\`\n${trick}\n\`\`\``, `<b title="${trick}">`);
    places.push(`[${trick}](https://a.example)`, `![${trick}](https://a.example)`);
    for (const text of places) {
      const { container, unmount } = render(<Markdown text={text} />);
      expect(container.textContent).toContain('payU+202Egpj.exe');
      unmount();
    }
  });

  it.each([
    ['[the docs](https://evil.example/?d=1)', 'the docs (evil.example)'],
    ['[github.com](https://github.com.evil.example/x)', 'github.com (github.com.evil.example)'],
    ['[https://good.example](https://evil.example)', 'https://good.example (evil.example)'],
    ['[good](https://good.example@evil.example/)', 'good (evil.example)'],
    ['[pay](https://pаypal.example)', 'pay (xn--pypal-4ve.example)'],
    ['[write](mailto:eve@evil.example)', 'write (eve@evil.example)'],
    ['https://plain.example/a', 'https://plain.example/a'],
  ])('says where %s leads', (source, shown) => {
    const { container } = render(<Markdown text={source} />);
    expect(container.querySelector('a')?.textContent).toBe(shown);
  });

  it('opens links elsewhere without telling where they were', () => {
    const { container } = render(<Markdown text="see [docs](https://example.com/a)" />);
    const link = container.querySelector('a');
    expect(link?.getAttribute('href')).toBe('https://example.com/a');
    expect(link?.getAttribute('rel')).toContain('noreferrer');
  });

  it('closes what a text on its way has begun, once it has what that takes', async () => {
    const { container, rerender } = render(<StreamingMarkdown text="a **b" />);
    expect(container.textContent).toContain('b');
    await vi.waitFor(() => expect(mended('a **b')).toBe('a **b**'), { timeout: 30_000 });
    rerender(<StreamingMarkdown text="a **bo" />);
    expect(container.querySelector('strong')?.textContent).toBe('bo');
    rerender(<StreamingMarkdown text="a **bold** word" />);
    expect(container.querySelector('strong')?.textContent).toBe('bold');
  });
});
