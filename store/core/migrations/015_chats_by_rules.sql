-- What a model said of a chat stood in the place of what the person said: it is made of the chat again.
update chat_sessions set summary_state = 'pending'
where id in (select session_id from chat_summaries where made_by not in ('rules', 'person'));
