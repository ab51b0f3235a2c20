-- The words that chats are found by had sentences in them that code says in every answer: they are made of the
-- chats again, a few with each look of the web process.
update chat_sessions set summary_state = 'pending'
where state = 'closed' and summary_state = 'made'
    and id in (select session_id from chat_summaries where is_edited = 0);
