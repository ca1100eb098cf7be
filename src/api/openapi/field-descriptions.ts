/** Of each field of a send's body, by its path: what it is, and the rules that JSON Schema has no words for. */
export const fieldDescriptions = {
  channelId: 'The channel that sends the message.',
  contact: 'Whom the message goes to.',
  'contact.value':
    'A phone number with its country code: spaces, dots, dashes and parentheses are dropped, `+` or `00` in front is optional. Or, with the type `email`, an e-mail address.',
  'contact.type': 'What `value` is. Without it, `phone`.',
  'contact.name': 'The name of the contact.',
  message: 'What is sent.',
  'message.type': 'Which object holds the content.',
  'message.text': 'The content of a `text`.',
  'message.text.value': 'The text. Channels of some providers take less.',
  'message.template': 'The content of a `template`.',
  'message.template.name': 'The name under which the template is registered with the channel.',
  'message.template.variables':
    'The variables of the template, each `key` once. A template that is registered gets all of its variables and no other. Without it, none.',
  'message.template.variables[]': 'A variable and its value.',
  'message.template.variables[].key': 'The name of the variable.',
  'message.template.variables[].value': 'What is put in.',
  'message.media': 'The content of a `media`: `base64` or `mediaUrl`. With both, that of `base64` is sent.',
  'message.media.mediaType':
    'What the media is. An `image` has to be recognised as one; a `document` takes anything. A channel may take less.',
  'message.media.mimetype':
    'The media type of the content. Without it, what the content of `base64` is recognised as; one that the content contradicts is refused.',
  'message.media.filename': 'A name without a path.',
  'message.media.caption': 'A text that goes with the media.',
  'message.media.base64':
    'The content in base64, at most 16 MiB when decoded: the standard alphabet, line breaks ignored, padding optional. Or a URL of the form `data:<type>;base64,<content>`.',
  'message.media.mediaUrl':
    'Where the content is. A host that is written as an address has to be a public one. No user name, no password.',
  'message.flowId': 'As `flowId` beside the message. In both places they have to be equal.',
  'message.closeConversation':
    'As `closeConversation` beside the message. In both places they have to be equal.',
  flowId: 'A flow of the account that the send belongs to.',
  closeConversation:
    "Whether the contact's open conversation is closed before the first attempt. Without it, false.",
} satisfies Record<string, string>
