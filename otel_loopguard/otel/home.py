"""placeholder"""
def live_for(settings, lp, mp): raise NotImplementedError
