import type { Token, Tokens } from 'marked';
import { Fragment, type ReactNode } from 'react';
import { visible } from '../ui/visible';

/** Addresses that a link may lead to. Anything else, such as javascript:, is text. */
const safe = (address: string): string | undefined =>
  /^(https?:|mailto:)/i.test(address) ? address : undefined;

/** What stands in a line. HTML is text; an image is its name, since loading it would tell its server who reads. */
export function inline(tokens: Token[] | undefined, prefix = ''): ReactNode[] {
  return (tokens ?? []).map((token, index) => one(token, `${prefix}${index}`));
}

function one(token: Token, key: string): ReactNode {
  switch (token.type) {
    case 'strong':
      return <strong key={key}>{inline(token.tokens, key)}</strong>;
    case 'em':
      return <em key={key}>{inline(token.tokens, key)}</em>;
    case 'del':
      return <del key={key}>{inline(token.tokens, key)}</del>;
    case 'codespan':
      return <code key={key}>{visible((token as Tokens.Codespan).text)}</code>;
    case 'br':
      return <br key={key} />;
    case 'link':
      return link(token as Tokens.Link, key);
    case 'image': {
      const { text, href } = token as Tokens.Image;
      return (
        <span key={key} className="text-fg-3">
          [image: {visible(text || href)}]
        </span>
      );
    }
    case 'text': {
      const text = token as Tokens.Text;
      return text.tokens ? (
        <span key={key}>{inline(text.tokens, key)}</span>
      ) : (
        plain(text.text, key)
      );
    }
    case 'escape':
      return plain((token as Tokens.Escape).text, key);
    default:
      return <Fragment key={key}>{visible(token.raw)}</Fragment>;
  }
}

/** A link says where it leads: what a model writes on it need not. */
function link(token: Tokens.Link, key: string): ReactNode {
  const href = safe(token.href);
  if (!href) return <span key={key}>{inline(token.tokens, key)}</span>;
  const target = leadsTo(href, token.text);
  return (
    <a
      key={key}
      href={href}
      title={URL.parse(href)?.href}
      target="_blank"
      rel="noopener noreferrer nofollow"
    >
      {inline(token.tokens, key)}
      {target && <span className="text-fg-3"> ({target})</span>}
    </a>
  );
}

/** The host behind a link, or the address of a mail, unless the text of the link is that address. */
function leadsTo(href: string, text: string): ReactNode {
  if (text === href || `mailto:${text}` === href) return undefined;
  const address = URL.parse(href);
  if (!address) return visible(href);
  return address.protocol === 'mailto:' ? visible(address.pathname) : address.host;
}

const entities: Record<string, string> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};

/** The lexer leaves the entities of a text as they are; React writes what it is given. */
const plain = (text: string, key: string): ReactNode => (
  <Fragment key={key}>
    {visible(text.replaceAll(/&(amp|lt|gt|quot|#39);/g, (entity) => entities[entity] ?? entity))}
  </Fragment>
);
