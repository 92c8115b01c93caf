/** The turns as a person reads them: what the agent says, does and asks, and where in it the connection was cut. */
import { element, printable } from './text.js'

/** How far from the end still counts as the end, in pixels. */
const NEAR_END = 60

export function createTalk(root) {
  /** Where the next words of a kind go on, as long as nothing else has come. */
  let open
  const tools = new Map()
  /** Take back the questions that wait for the person. */
  const waiting = new Set()
  let following = true

  root.addEventListener('scroll', () => {
    following = root.scrollHeight - root.scrollTop - root.clientHeight < NEAR_END
  })

  const add = (item) => {
    root.append(item)
    if (following) root.scrollTop = root.scrollHeight
    return item
  }

  /** Words of one kind and one delivery are one run. */
  const say = (kind, text, delivery) => {
    if (open?.kind !== kind) open = { kind, block: add(element('p', kind)), words: undefined, delivery }
    if (open.words === undefined || open.delivery !== delivery) {
      open.delivery = delivery
      open.words = element('span', `words ${delivery}`)
      open.block.append(open.words)
    }
    open.words.append(printable(text))
    if (following) root.scrollTop = root.scrollHeight
  }

  /** In the middle of the words, if there are any, else between what there is. */
  const here = (name, tone, text) => {
    const chip = element('span', `here ${tone}`, text)
    chip.dataset.mark = name
    if (open === undefined) add(chip)
    else {
      open.block.append(chip)
      open.words = undefined
      if (following) root.scrollTop = root.scrollHeight
    }
  }

  const tool = (update, delivery) => {
    const { toolCallId: id, title, status, content } = update
    let card = tools.get(id)
    if (card === undefined) {
      card = cardWith('tool')
      tools.set(id, card)
      add(card.root)
      open = undefined
    }
    if (delivery === 'replayed') card.root.classList.add('replayed')
    if (title) card.title.textContent = printable(title)
    if (status) {
      card.root.dataset.status = status
      card.note.textContent = status.replaceAll('_', ' ')
    }
    if (content)
      card.body.replaceChildren(...content.map((one) => element('pre', '', printable(textOf(one)))))
    if (following) root.scrollTop = root.scrollHeight
  }

  return {
    asked(text) {
      open = undefined
      following = true
      add(element('p', 'asked', text))
    },

    /** One `session/update`. */
    update(update, delivery) {
      const kind = update.sessionUpdate
      if (kind === 'agent_message_chunk') say('answer', textOf(update), delivery)
      else if (kind === 'agent_thought_chunk') say('thought', textOf(update), delivery)
      else if (kind === 'tool_call' || kind === 'tool_call_update') tool(update, delivery)
      else if (kind === 'plan') {
        open = undefined
        const card = cardWith('plan')
        card.title.textContent = 'Plan'
        const entries = (update.entries ?? []).map(({ content, status }) => `${content} (${status})`)
        card.body.append(element('pre', '', printable(entries.join('\n'))))
        add(card.root)
      }
    },

    /** Resolves with the outcome that the person chose; the agent may take its question back. */
    permission({ toolCall, options }, signal, delivery) {
      open = undefined
      const card = cardWith('permission')
      if (delivery === 'replayed') card.root.classList.add('replayed')
      card.title.textContent = `May the agent go on? ${printable(toolCall?.title ?? '')}`
      card.note.textContent = 'waits for you'
      const choices = element('div', 'choices')
      card.body.append(choices)
      add(card.root)
      return new Promise((resolve) => {
        const settle = (outcome, note) => {
          waiting.delete(withdraw)
          choices.remove()
          card.root.dataset.status = note
          card.note.textContent = note
          resolve({ outcome })
        }
        for (const { optionId, name } of options) {
          const button = element('button', '', name)
          button.type = 'button'
          button.addEventListener('click', () =>
            settle({ outcome: 'selected', optionId }, `you said: ${name}`),
          )
          choices.append(button)
        }
        const withdraw = () => settle({ outcome: 'cancelled' }, 'withdrawn')
        waiting.add(withdraw)
        signal.addEventListener('abort', withdraw)
      })
    },

    /** The turn is stopped, or its agent gone: nobody needs the answers any more. */
    withdraw() {
      for (const one of waiting) one()
    },

    cut: () => here('cut', 'warning', 'cut here'),
    returned: () => here('replay', 'replay', 'back, replayed:'),
    live: (count) => here('live', 'gate', `live again, ${count} replayed`),

    /** The turn is over. */
    verdict(text, isComplete) {
      open = undefined
      const line = add(element('p', 'verdict', text))
      line.dataset.complete = isComplete
    },

    /** Something that a person should know, with what can be done about it. */
    fault(title, text, action) {
      open = undefined
      const mark = element('div', 'mark error')
      mark.dataset.mark = 'fault'
      const body = element('div', 'mark-text')
      body.append(element('b', '', title), ' ', element('span', '', printable(text)))
      mark.append(body)
      if (action) {
        const button = element('button', '', action.name)
        button.type = 'button'
        button.addEventListener('click', () => {
          button.remove()
          action.act()
        })
        mark.append(button)
      }
      add(mark)
    },
  }
}

function cardWith(kind) {
  const root = element('div', `card ${kind}`)
  const head = element('div', 'card-head')
  const title = element('b')
  const note = element('span')
  const body = element('div')
  head.append(title, note)
  root.append(head, body)
  return { root, title, note, body }
}

/** What of a content block can be read. */
function textOf({ type, content, path }) {
  if (type === 'diff') return `changes ${path}`
  if (content?.type === 'text') return content.text
  return `[${content?.type ?? type}]`
}
