import type { Token, Tokens } from 'marked';
import { memo, type ReactNode } from 'react';
import { visible } from '../ui/visible';
import { lex } from './blocks';
import { Code } from './code';
import { inline } from './inline';
import { mended } from './mend';

/** One block. An open one is still coming in: what it has begun is closed for the moment. */
export const Block = memo(function Block({ raw, open = false }: { raw: string; open?: boolean }) {
  return lex(open ? mended(raw) : raw).map((token, index) => one(token, `b${index}`, open));
});

function one(token: Token, key: string, open: boolean): ReactNode {
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'heading': {
      const heading = token as Tokens.Heading;
      const content = inline(heading.tokens, key);
      return heading.depth <= 2 ? <h3 key={key}>{content}</h3> : <h4 key={key}>{content}</h4>;
    }
    case 'paragraph':
      return <p key={key}>{inline(token.tokens, key)}</p>;
    case 'text':
      return <span key={key}>{inline((token as Tokens.Text).tokens ?? [token], key)}</span>;
    case 'code': {
      const { text, lang } = token as Tokens.Code;
      const language = (lang ?? '').split(/\s/)[0] ?? '';
      return <Code key={key} code={text} language={language} closed={!open} />;
    }
    case 'blockquote':
      return (
        <blockquote key={key}>
          {(token.tokens ?? []).map((inner, index) => one(inner, `${key}.${index}`, open))}
        </blockquote>
      );
    case 'hr':
      return <hr key={key} />;
    case 'list':
      return list(token as Tokens.List, key, open);
    case 'table':
      return table(token as Tokens.Table, key);
    default:
      return <p key={key}>{visible(token.raw)}</p>;
  }
}

function list(token: Tokens.List, key: string, open: boolean): ReactNode {
  const items = token.items.map((item, index) => (
    <li key={index}>{item.tokens.map((inner, at) => one(inner, `${key}.${index}.${at}`, open))}</li>
  ));
  if (!token.ordered) return <ul key={key}>{items}</ul>;
  return (
    <ol key={key} start={Number(token.start) || 1}>
      {items}
    </ol>
  );
}

function table(token: Tokens.Table, key: string): ReactNode {
  return (
    <div key={key} className="overflow-x-auto">
      <table>
        <thead>
          <tr>
            {token.header.map((cell, index) => (
              <th key={index} scope="col">
                {inline(cell.tokens, `${key}h${index}`)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, at) => (
                <td key={at}>{inline(cell.tokens, `${key}${index}.${at}`)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
