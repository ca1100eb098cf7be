/** More isn't read. */
const longestWords = 1000

const address = /[^\s<>]{1,64}@[^\s<>]{1,255}/g

/** A server's words as the patterns read them: without addresses, which may contain any word. */
export const wordsToRead = (words: string): string =>
  words.slice(0, longestWords).replaceAll(address, '').replaceAll('’', "'")

/**
 * Codes that say nothing, such as Microsoft's `5.0.350`, or only what they are about: the words after them say more. `5.7.0` is of a
 * policy, always.
 */
export const isVagueCode = (code: string | null | undefined): boolean =>
  !code || /^[245]\.(?:[0-6]\.0|0\.\d+)$/.test(code)

/** RFC 5321's text for reply 550, which says that there is no such mailbox; and for 450, which says that it is busy. */
const unavailable = /\bmailbox (?:is )?(?:unavailable|not available)\b/i

/**
 * Words for an address that there isn't. Outlook.com sends `550 5.5.0 Requested action not taken: mailbox unavailable`, Orange
 * `550 5.5.0 Adresse d au moins un destinataire invalide. Invalid recipient. OFR_416`.
 */
const noSuch = [
  /\b(?:unknown|no such|invalid|non-?existent) (?:e-?mail )?(?:user|recipient|mailbox|address|account|local part|person|customer)\b/i,
  /\b(?:user|recipient|mailbox|address|account|addressee|person)(?: \S+){0,8} (?:unknown|not found|do(?:es)? ?n[o']t exist|not exist|no longer (?:exists?|valid|in use))\b/i,
  /\bdoes ?n[o']t have an? (?:\S+ )?account\b|\bno mailbox (?:here|by that name)\b|\bunrouteable address\b|\bdoes ?n[o']t live here\b/i,
  /\bRecipientNotFound\b|\bnot an? (?:valid|known|existing|local) (?:user|recipient|mailbox|address|account)\b/i,
  /\b(?:destinataire|utilisateur|adresse(?! IP)|bo[iî]te)(?: \S+){0,3} (?:invalide|inconnue?|n'existe pas)\b/i,
  /\b(?:benutzer|empf(?:ä|ae)nger|postfach)(?: \S+){0,3} (?:unbekannt|existiert nicht)\b/i,
  /\b(?:usuario|destinatario|utente|casella)(?: \S+){0,3} (?:desconocido|no existe|inexistente|sconosciut[oa]|inesistente)\b/i,
  unavailable,
]
const disabled =
  /\b(?:mailbox|account)(?: \S+){0,8} (?:disabled|inactive|deactivated|suspended|closed|terminated|blocked due to inactivity)\b|\buser (?:is |has been )?terminated\b|\barchived recipient\b|\bdestinataire archiv/i
const full =
  /\b(?:mailbox|mail ?box|account|inbox|recipient|user)(?: \S+){0,4} full\b|\bover ?quota\b|\bquota (?:is )?exceeded\b|\bexceeded (?:\S+ ){0,3}quota\b/i
const tooMany = /\breceiving (?:e-?mails?|mails?|messages?) (?:at a rate|too (?:quickly|fast|often))/i
const policy =
  /\bspam|\bblock(?:ed|ing|list)|black ?list|\bpolic(?:y|ies)\b|reputation|unsolicited|\bbanned\b/i
const temporarily = /\b(?:mailbox|account|recipient|user)(?: \S+){0,3} temporarily\b/i
const ofSender = /\b(?:sender|exp[ée]diteur|absender|remitente|mittente)\b|\byour (?:\S+ )?account\b/i
const nullMx = /\bnull ?mx\b|\bdoes ?n[o']t (?:accept|receive) (?:e-?)?mails?\b/i

export const saysNoSuchContact = (text: string): boolean =>
  !ofSender.test(text) && [...noSuch, disabled].some((pattern) => pattern.test(text))

export const refusedByPolicy =
  "the contact's server refuses it by a policy: its content, the sender's reputation or its authentication"
export const tooManyMails = "the contact's mailbox gets too many mails now"

/** The first that applies. Words of a policy count last: a reply about an unknown address may name one, too. */
const meanings: [says: (text: string) => boolean, meaning: string][] = [
  [(text) => tooMany.test(text), tooManyMails],
  [(text) => full.test(text), 'the mailbox is full'],
  [(text) => temporarily.test(text), "the contact's mailbox takes no mail now"],
  [(text) => !ofSender.test(text) && disabled.test(text), 'the mailbox is disabled'],
  [(text) => nullMx.test(text), "the contact's domain accepts no mail"],
  [saysNoSuchContact, 'there is no such mailbox'],
  [(text) => policy.test(text), refusedByPolicy],
  [(text) => /\brecipient address rejected\b/i.test(text), "the contact's server refuses the address"],
]

/**
 * Codes that servers send for several things: Gmail has 5.2.1 for a disabled mailbox and for one that gets too many mails, Microsoft
 * 5.4.1 also for `Recipient address rejected: Access denied`.
 */
const codesOfSeveral = /^[45]\.(?:1\.(?:1|10|351)|2\.1|4\.1)$/

/** How a mail server, or its report, refused a mail. */
export interface MailRefusal {
  /** RFC 3463, such as `5.1.1`. */
  code: string | null | undefined
  reply: number | null
  /** The server's text, which isn't kept: it may repeat the address. */
  words: string
}

/** The meaning of a server's words for the contact, where the code alone doesn't settle it. */
export function meaningInWords({ code, reply, words }: MailRefusal): string | undefined {
  if (!isVagueCode(code) && !codesOfSeveral.test(code ?? '')) return undefined
  const isForNow = reply === null ? code?.startsWith('4') : reply < 500
  const read = wordsToRead(words)
  const text = isForNow ? read.replace(unavailable, '') : read
  return meanings.find(([says]) => says(text))?.[1]
}
