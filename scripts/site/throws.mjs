// A typedoc plugin that puts all exceptions of a function under one heading, with their types, which
// typedoc-plugin-markdown leaves out.
import { Converter } from 'typedoc';

/** @param {import('typedoc').Application} app */
export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    const comments = Object.values(project.reflections).flatMap(({ comment }) => comment ?? []);
    // two reflections may share one
    for (const comment of new Set(comments)) gather(comment);
  });
}

function gather(comment) {
  const thrown = comment.blockTags.filter(({ tag }) => tag === '@throws');
  if (thrown.length === 0) return;
  for (const tag of thrown) name(tag);
  const [first, ...others] = thrown;
  if (others.length === 0) return;
  const text = (words) => ({ kind: 'text', text: words });
  first.content = thrown.flatMap(({ content }) => [text('- '), ...content, text('\n')]);
  comment.blockTags = comment.blockTags.filter((tag) => !others.includes(tag));
}

/** Puts the type in front of its description. */
function name(tag) {
  const type = /^\{?(\w+)\}?$/.exec(tag.typeAnnotation ?? '')?.[1];
  if (type === undefined) return;
  tag.content.unshift({ kind: 'code', text: `\`${type}\`` }, { kind: 'text', text: ' ' });
  delete tag.typeAnnotation;
}
